// BMP, PNG, GIF, WebP and TIFF files with bytes changed at random or cut off. Each gives a picture
// of the size that it states, or an error, and nothing else. Most useful under a sanitizer.
#include <sluice/error.h>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"
#include "writer/source/images/image_kinds.h"
#ifdef SLUICE_HAS_WEBP
#include <webp/encode.h>
#endif
#ifdef SLUICE_HAS_TIFF
#include <tiffio.h>
#endif

namespace sluice::test {

namespace {

FileBytes SomeBmp(unsigned bits, unsigned coding) {
  ByteWriter out;
  out.Text("BM").U32(0).U32(0).U32(14 + 40 + 64);
  out.U32(40).U32(16).U32(16).U16(1).U16(bits).U32(coding);
  out.U32(0).U32(0).U32(0).U32(16).U32(0);
  for (unsigned i = 0; i < 16; ++i)
    out.U32(i * 0x101010U);
  for (unsigned i = 0; i < 256; ++i) {
    if (coding == 0) out.Add(FileBytes(bits / 8, static_cast<std::byte>(i % 16)));
    if (coding == 1 && i < 16) out.U8(16).U8(i).U16(0);  // a row, and its end
  }
  return out.bytes();
}

FileBytes SomeGif() {
  ByteWriter out;
  out.Text("GIF89a").U16(4).U16(4).U8(0x81).U8(0).U8(0);
  out.Values({255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7});
  out.Values({0x21, 0xF9, 4, 1, 0, 0, 2, 0});
  out.U8(0x2C).U16(0).U16(0).U16(4).U16(4).U8(0);
  // Codes of 8 bits: 128 clears the dictionary, 129 ends.
  out.Values({7, 18, 128, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 129, 0, 0x3B});
  return out.bytes();
}

#ifdef SLUICE_HAS_WEBP
FileBytes SomeWebp(bool lossless) {
  const Picture picture = MakePicture(24, 16, lossless ? 4 : 3);
  std::uint8_t* data = nullptr;
  const std::size_t size =
      lossless ? WebPEncodeLosslessRGBA(picture.pixels.data(), 24, 16, 24 * 4, &data)
               : WebPEncodeRGB(picture.pixels.data(), 24, 16, 24 * 3, 80, &data);
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  FileBytes file(begin, begin + size);
  WebPFree(data);
  return file;
}
#endif

#ifdef SLUICE_HAS_TIFF
FileBytes SomeTiff(std::uint16_t compression) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "made.tif";
  const Picture picture = MakePicture(24, 16);
  TIFF* const file = TIFFOpen(path.c_str(), "w");
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 24);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, 16);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_COMPRESSION, compression);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 8);
  for (std::uint32_t y = 0; y < 16; ++y)
    TIFFWriteScanline(file, const_cast<std::uint8_t*>(picture.at(0, y)), y, 0);
  TIFFClose(file);
  const std::string text = ContentOf(path);
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}
#endif

void DecodeDamaged(const FileBytes& whole, std::uint64_t seed) {
  constexpr std::uint64_t kMaxPixels = 1'000'000;
  const ImageKind kind = Sniff(whole).kind;
  CHECK_NOTHROW(OpenPixels(kind, whole)->Decode({}));
  RandomStream random(seed, static_cast<Purpose>(999), 0);
  for (int round = 0; round < 300; ++round) {
    FileBytes file = whole;
    if (round % 4 == 0) file.resize(random.Below(file.size()));
    for (std::uint64_t change = random.Below(6); change > 0 && !file.empty(); --change) {
      // Changes mostly hit the beginning, where headers are.
      const std::uint64_t reach =
          random.Below(2) == 0 ? std::min<std::uint64_t>(64, file.size()) : file.size();
      file[random.Below(reach)] = static_cast<std::byte>(random.Below(256));
    }
    try {
      const std::unique_ptr<PixelSource> source = OpenPixels(kind, file, round % 2 == 0);
      source->Profile();
      const std::uint64_t pixels = std::uint64_t{source->width()} * source->height();
      if (pixels == 0 || pixels > kMaxPixels) continue;
      const sluice::Picture picture = source->Decode({});
      if (picture.pixels.size() != pixels * picture.channels)
        FAIL("the picture does not have the stated size");
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

TEST_CASE("damaged BMPs give a picture or an error") {
  DecodeDamaged(SomeBmp(24, 0), 1);
  DecodeDamaged(SomeBmp(8, 0), 2);
  DecodeDamaged(SomeBmp(32, 0), 3);
  DecodeDamaged(SomeBmp(8, 1), 4);
}

TEST_CASE("damaged PNGs give a picture or an error, also with a profile") {
  DecodeDamaged(MakePng(MakePicture(24, 16)), 6);
  FileBytes png = MakePng(MakePicture(24, 16));
  ByteWriter chunk;  // its profile cannot be inflated
  chunk.Values({0, 0, 0, 8}).Text("iCCPname").Values({0, 0, 7, 7, 1, 2, 3, 4});
  png.insert(png.begin() + 33, chunk.bytes().begin(), chunk.bytes().end());
  DecodeDamaged(png, 7);
}

#ifdef SLUICE_HAS_GIF
TEST_CASE("damaged GIFs give a picture or an error") {
  DecodeDamaged(SomeGif(), 5);
}
#else
TEST_CASE("a build without the GIF library refuses a GIF") {
  CHECK_THROWS_AS(OpenPixels(ImageKind::kGif, SomeGif()), Error);
}
#endif

#ifdef SLUICE_HAS_WEBP
TEST_CASE("damaged WebPs give a picture or an error") {
  DecodeDamaged(SomeWebp(true), 6);
  DecodeDamaged(SomeWebp(false), 7);
}
#endif

#ifdef SLUICE_HAS_TIFF
TEST_CASE("damaged TIFFs give a picture or an error") {
  for (const std::uint16_t compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
    DecodeDamaged(SomeTiff(compression), 8 + compression);
  }
}
#endif

}  // namespace sluice::test
