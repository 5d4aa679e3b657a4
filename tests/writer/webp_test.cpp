// WebP files. libwebp's encoder stores the pixels; the tests make extended containers byte by byte.
#ifdef SLUICE_HAS_WEBP
#include <webp/encode.h>

#include "tests/catch.h"
#include "tests/writer/converted.h"

namespace sluice::test {

namespace {

// Copies and frees bytes that libwebp has allocated.
FileBytes Taken(std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  FileBytes file(begin, begin + size);
  WebPFree(data);
  return file;
}

// A simple file: RIFF header, then the single chunk of pixels.
FileBytes Lossless(const Picture& picture) {
  std::uint8_t* data = nullptr;
  const auto width = static_cast<int>(picture.width);
  const auto height = static_cast<int>(picture.height);
  const std::size_t size =
      picture.channels == 4
          ? WebPEncodeLosslessRGBA(picture.pixels.data(), width, height, width * 4, &data)
          : WebPEncodeLosslessRGB(picture.pixels.data(), width, height, width * 3, &data);
  return Taken(data, size);
}

FileBytes Lossy(const Picture& picture) {
  std::uint8_t* data = nullptr;
  const auto width = static_cast<int>(picture.width);
  const std::size_t size = WebPEncodeRGB(picture.pixels.data(), width,
                                         static_cast<int>(picture.height), width * 3, 95, &data);
  return Taken(data, size);
}

// The chunks of a simple file.
Bytes ChunksOf(const FileBytes& simple) {
  return Bytes(simple).subspan(12);
}

FileBytes Riff(const FileBytes& chunks) {
  return ByteWriter()
      .Text("RIFF")
      .U32(static_cast<std::uint32_t>(4 + chunks.size()))
      .Text("WEBP")
      .Add(chunks)
      .bytes();
}

void AddChunk(ByteWriter& out, const char* name, Bytes content) {
  out.Text(name).U32(static_cast<std::uint32_t>(content.size())).Add(content);
  if (content.size() % 2 == 1) out.U8(0);
}

// Bits of the flags that state what an extended file contains.
constexpr unsigned kAnimation = 2, kExif = 8, kOpacity = 16;

void AddHeader(ByteWriter& out, unsigned flags, std::uint32_t width, std::uint32_t height) {
  out.Text("VP8X").U32(10).U32(flags).U24(width - 1).U24(height - 1);
}

FileBytes WithExif(const Picture& picture, unsigned orientation) {
  ByteWriter out;
  AddHeader(out, kExif, picture.width, picture.height);
  out.Add(ChunksOf(Lossless(picture)));
  const FileBytes exif = ByteWriter()
                             .Values({'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0})
                             .Values({0x12, 1, 3, 0, 1, 0, 0, 0})
                             .U32(orientation)
                             .U32(0)
                             .bytes();
  AddChunk(out, "EXIF", exif);
  return Riff(out.bytes());
}

}  // namespace

TEST_CASE("lossless WebPs keep their pixels, and lossy ones nearly") {
  const Picture picture = MakePicture(61, 47);
  CHECK(Difference(ConvertOne(Lossless(picture)).picture, picture) == 0);
  CHECK(Difference(ConvertOne(Lossy(picture)).picture, picture) < 5);
}

TEST_CASE("transparent WebPs are applied over the background") {
  Picture picture{255, 1, 4, {}};
  Picture expected{255, 1, 3, {}};
  ConvertOptions options = AsTheyAre();
  options.form.background = {200, 100, 0};
  for (int x = 1; x < 256; ++x) {  // libwebp may change invisible colours
    const int values[] = {10, 240, x};
    for (int c = 0; c < 3; ++c) {
      picture.pixels.push_back(static_cast<std::uint8_t>(values[c]));
      expected.pixels.push_back(
          Over(values[c] / 255.0, x / 255.0, options.form.background[static_cast<std::size_t>(c)]));
    }
    picture.pixels.push_back(static_cast<std::uint8_t>(x));
  }
  CHECK(Difference(ConvertOne(Lossless(picture), options).picture, expected) == 0);
}

TEST_CASE("a WebP's Exif orientation turns it") {
  const Picture upright = MakePicture(12, 7);
  for (const int orientation : {1, 3, 6, 8}) {
    INFO("orientation " << orientation);
    const FileBytes file =
        WithExif(Stored(upright, orientation), static_cast<unsigned>(orientation));
    CHECK(Difference(ConvertOne(file).picture, upright) == 0);
  }
}

TEST_CASE("the first frame of an animated WebP is used, on its canvas") {
  const Picture first = MakePicture(4, 2);
  const Picture second = MakePicture(4, 2, 3, 9);
  ByteWriter out;
  AddHeader(out, kAnimation | kOpacity, 8, 6);
  AddChunk(out, "ANIM", ByteWriter().U32(0).U16(0).bytes());
  for (const Picture* frame : {&first, &second}) {
    ByteWriter body;
    body.U24(1).U24(2).U24(3).U24(1);  // at 2, 4 (in steps of two pixels), 4x2
    body.U24(100).U8(0).Add(ChunksOf(Lossless(*frame)));
    AddChunk(out, "ANMF", body.bytes());
  }
  const Picture picture = ConvertOne(Riff(out.bytes())).picture;
  REQUIRE(picture.width == 8);
  REQUIRE(picture.height == 6);
  for (std::uint32_t y = 0; y < 6; ++y) {
    for (std::uint32_t x = 0; x < 8; ++x) {
      INFO(x << ", " << y);
      const bool inside = x >= 2 && x < 6 && y >= 4;
      const std::array<std::uint8_t, 3> white = {255, 255, 255};
      const std::uint8_t* const expected = inside ? first.at(x - 2, y - 4) : white.data();
      CHECK(std::equal(expected, expected + 3, picture.at(x, y)));
    }
  }
}

TEST_CASE("a WebP that ends early, or in zeros, is refused or used as far as it goes") {
  const Picture picture = MakePicture(64, 200);
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  for (const FileBytes& file : {Lossless(picture), Lossy(picture)}) {
    const Picture whole = ConvertOne(file).picture;
    for (const std::size_t zeros : {std::size_t{0}, file.size() / 4}) {
      FileBytes part = Truncated(file, file.size() * 3 / 4);
      part.resize(part.size() + zeros);
      CHECK(ConvertOne(part).reason.find("broken WebP: it is cut short") == 0);
      const Converted converted = ConvertOne(part, accept);
      REQUIRE(converted.summary.truncated.size() == 1);
      REQUIRE(converted.picture.height == 200);
      CHECK(std::equal(whole.pixels.begin(), whole.pixels.begin() + 16 * 64 * 3,
                       converted.picture.pixels.begin()));
    }
  }
}

TEST_CASE("WebPs that end early, are damaged or are huge are left out with a reason") {
  const FileBytes file = Lossless(MakePicture(60, 60));
  for (const std::size_t count : {std::size_t{16}, std::size_t{40}, file.size() / 2}) {
    CHECK(ConvertOne(Truncated(file, count)).reason.find("broken WebP") == 0);
  }
  ByteWriter damaged;
  damaged.Add(Bytes(file).first(60)).Add(FileBytes(file.size() - 60, std::byte{0xFF}));
  CHECK(ConvertOne(damaged.bytes()).reason.find("broken WebP") == 0);
  ConvertOptions options = AsTheyAre();
  options.run.max_pixels = 3599;
  CHECK(ConvertOne(file, options).reason.find("60x60 pixels") != std::string::npos);
}

}  // namespace sluice::test
#endif
