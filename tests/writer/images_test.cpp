// The pixels that a conversion stores for JPEGs and PNGs. Raw storage without resizing makes the
// expected values exact: libjpeg's own decoding, or the pixels that went into the PNG.
#include <cmath>

#include <zlib.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

Picture Grey(const Picture& rgb) {
  Picture grey{rgb.width, rgb.height, 1, {}};
  for (std::size_t i = 0; i < rgb.pixels.size(); i += 3) {
    grey.pixels.push_back(static_cast<std::uint8_t>(std::lround(
        0.299 * rgb.pixels[i] + 0.587 * rgb.pixels[i + 1] + 0.114 * rgb.pixels[i + 2])));
  }
  return grey;
}

Picture Repeated(const Picture& grey) {
  Picture rgb{grey.width, grey.height, 3, {}};
  for (const std::uint8_t value : grey.pixels)
    rgb.pixels.insert(rgb.pixels.end(), 3, value);
  return rgb;
}

}  // namespace

TEST_CASE("JPEGs of every coding give libjpeg's pixels") {
  const Picture picture = MakePicture(61, 47);
  const auto same = [](const FileBytes& file) {
    return Difference(ConvertOne(file).picture, DecodeJpeg(file)) == 0;
  };
  CHECK(same(MakeJpeg(picture)));
  CHECK(same(MakeJpeg(picture, {.progressive = true})));
  CHECK(same(MakeJpeg(picture, {.subsample = false})));
  CHECK(same(MakeJpeg(picture, {.restart_rows = 2})));
  CHECK(same(MakeJpeg(picture, {.stored = JCS_RGB})));
  CHECK(same(EncodeWith(picture, [](jpeg_compress_struct& jpeg) {
    jpeg.comp_info[0].h_samp_factor = 4;  // 4:1:1
    jpeg.comp_info[0].v_samp_factor = 1;
  })));
#ifdef C_ARITH_CODING_SUPPORTED
  CHECK(same(EncodeWith(picture, [](jpeg_compress_struct& jpeg) { jpeg.arith_code = TRUE; })));
#endif
}

TEST_CASE("grey JPEGs become RGB of equal values, or stay grey") {
  const FileBytes file = MakeJpeg(MakePicture(40, 30, 1));
  const Picture grey = DecodeJpeg(file, 1);
  CHECK(Difference(ConvertOne(file).picture, Repeated(grey)) == 0);
  CHECK(Difference(ConvertOne(file, AsTheyAre(1)).picture, grey) == 0);
}

TEST_CASE("with one channel, colours become grey by their luma") {
  const FileBytes file = MakeJpeg(MakePicture(40, 30));
  CHECK(Difference(ConvertOne(file, AsTheyAre(1)).picture, DecodeJpeg(file, 1)) == 0);
  const Picture rgb = MakePicture(21, 13);
  CHECK(Difference(ConvertOne(MakePng(rgb), AsTheyAre(1)).picture, Grey(rgb)) == 0);
}

TEST_CASE("CMYK JPEGs become RGB, inverted if the Adobe marker says so") {
  Picture inks{32, 32, 4, {}};
  for (int i = 0; i < 32 * 32; ++i) {
    // Flat areas, so that compression changes little.
    const bool left = i % 32 < 16;
    const bool top = i / 32 < 16;
    inks.pixels.insert(inks.pixels.end(), {static_cast<std::uint8_t>(left ? 200 : 40), 128,
                                           static_cast<std::uint8_t>(top ? 255 : 90), 220});
  }
  const auto expected = [&](bool inverted) {
    Picture rgb{32, 32, 3, {}};
    for (std::size_t i = 0; i < inks.pixels.size(); i += 4) {
      for (std::size_t c = 0; c < 3; ++c) {
        const double ink = inks.pixels[i + c] / 255.0;
        const double black = inks.pixels[i + 3] / 255.0;
        const double light = inverted ? ink * black : (1 - ink) * (1 - black);
        rgb.pixels.push_back(static_cast<std::uint8_t>(std::lround(255 * light)));
      }
    }
    return rgb;
  };
  const auto coded = [&](J_COLOR_SPACE space, bool adobe) {
    return EncodeWith(inks, [&](jpeg_compress_struct& jpeg) {
      jpeg_set_colorspace(&jpeg, space);
      for (int c = 0; c < 4; ++c) {
        jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
      }
      jpeg.write_Adobe_marker = adobe ? TRUE : FALSE;
    });
  };
  CHECK(Difference(ConvertOne(coded(JCS_CMYK, true)).picture, expected(true)) < 1.5);
  CHECK(Difference(ConvertOne(coded(JCS_YCCK, true)).picture, expected(true)) < 1.5);
  CHECK(Difference(ConvertOne(coded(JCS_CMYK, false)).picture, expected(false)) < 1.5);
  CHECK(Difference(ConvertOne(coded(JCS_CMYK, true), AsTheyAre(1)).picture, Grey(expected(true))) <
        1.5);
}

TEST_CASE("JPEGs are turned as their Exif orientation says") {
  const Picture upright = MakePicture(40, 24);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    INFO("orientation " << orientation);
    const FileBytes plain = MakeJpeg(Stored(upright, orientation), {.subsample = false});
    const FileBytes file = WithOrientation(plain, static_cast<std::uint16_t>(orientation));
    // The result is close to the upright picture. Turned back, it is exactly the file's pixels.
    const Picture converted = ConvertOne(file).picture;
    CHECK(Difference(converted, upright) < 3);
    CHECK(Difference(Stored(converted, orientation), DecodeJpeg(plain)) == 0);
  }
}

TEST_CASE("an invalid orientation, or broken Exif data, turns nothing") {
  const FileBytes plain = MakeJpeg(MakePicture(20, 10));
  CHECK(ConvertOne(WithOrientation(plain, 9)).picture.width == 20);
  FileBytes broken = WithOrientation(plain, 6);
  for (std::size_t i = 14; i < 20; ++i)  // the rest of the Exif data's header, after "II"
    broken[i] = std::byte{0xFF};
  CHECK(Difference(ConvertOne(broken).picture, DecodeJpeg(plain)) == 0);
}

TEST_CASE("turned pictures are fitted by their upright size") {
  ConvertOptions options = AsTheyAre();
  options.geometry.size = Size{30, 60};
  options.geometry.fit = Fit::kCrop;
  // Stored on its side. Seen upright it is 100 wide and 400 high, and the crop keeps the middle
  // half of the height.
  Picture upright{100, 400, 3, {}};
  for (std::uint32_t y = 0; y < 400; ++y) {
    for (std::uint32_t x = 0; x < 100; ++x) {
      const bool middle = y >= 100 && y < 300;
      upright.pixels.insert(upright.pixels.end(),
                            {static_cast<std::uint8_t>(middle ? 200 : 0),
                             static_cast<std::uint8_t>(x < 50 ? 250 : 10), 100});
    }
  }
  for (const int orientation : {6, 7}) {
    const FileBytes file =
        WithOrientation(MakeJpeg(Stored(upright, orientation), {.subsample = false}),
                        static_cast<std::uint16_t>(orientation));
    const Picture picture = ConvertOne(file, options).picture;
    REQUIRE(picture.width == 30);
    REQUIRE(picture.height == 60);
    CHECK(std::abs(picture.at(5, 2)[0] - 200) < 12);
    CHECK(std::abs(picture.at(5, 57)[0] - 200) < 12);
    CHECK(picture.at(5, 30)[1] > 230);
    CHECK(picture.at(25, 30)[1] < 30);
  }
}

TEST_CASE("PNGs of RGB and grey keep their pixels, interlaced or not") {
  const Picture rgb = MakePicture(37, 23);
  CHECK(Difference(ConvertOne(MakePng(rgb)).picture, rgb) == 0);
  const Picture grey = MakePicture(37, 23, 1);
  CHECK(Difference(ConvertOne(MakePng(grey)).picture, Repeated(grey)) == 0);
  CHECK(Difference(ConvertOne(MakePng(grey), AsTheyAre(1)).picture, grey) == 0);
  PngOptions interlaced;
  interlaced.interlaced = true;
  const FileBytes file = MakePng(37, 23, rgb.pixels, interlaced);
  CHECK(Difference(ConvertOne(file).picture, rgb) == 0);
  CHECK(Difference(ConvertOne(file, AsTheyAre(1)).picture, Grey(rgb)) == 0);
}

TEST_CASE("PNGs of 16 bits are rounded to 8") {
  std::vector<std::uint8_t> rows;
  Picture expected{256, 1, 3, {}};
  for (std::uint32_t x = 0; x < 256; ++x) {
    for (std::uint32_t c = 0; c < 3; ++c) {
      const std::uint32_t value = (x * 257 + c * 120 + 64) & 0xFFFF;
      rows.push_back(static_cast<std::uint8_t>(value >> 8));
      rows.push_back(static_cast<std::uint8_t>(value));
      expected.pixels.push_back(static_cast<std::uint8_t>(std::lround(value / 257.0)));
    }
  }
  PngOptions options;
  options.bit_depth = 16;
  for (const bool interlaced : {false, true}) {
    options.interlaced = interlaced;
    CHECK(Difference(ConvertOne(MakePng(256, 1, rows, options)).picture, expected) == 0);
  }
}

TEST_CASE("PNGs with 1, 2 and 4 bits of grey use the whole range") {
  PngOptions options;
  options.color_type = 0;
  options.bit_depth = 1;
  CHECK(ConvertOne(MakePng(8, 1, {0b10110000}, options), AsTheyAre(1)).picture.pixels ==
        std::vector<std::uint8_t>{255, 0, 255, 255, 0, 0, 0, 0});
  options.bit_depth = 2;
  CHECK(ConvertOne(MakePng(4, 1, {0b00011011}, options), AsTheyAre(1)).picture.pixels ==
        std::vector<std::uint8_t>{0, 85, 170, 255});
  options.bit_depth = 4;
  CHECK(ConvertOne(MakePng(2, 1, {0x2F}, options), AsTheyAre(1)).picture.pixels ==
        std::vector<std::uint8_t>{34, 255});
}

TEST_CASE("transparent PNGs are laid over white") {
  std::vector<std::uint8_t> rows;
  Picture expected{256, 1, 3, {}};
  for (int x = 0; x < 256; ++x) {
    rows.insert(rows.end(), {200, 10, static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(x)});
    for (const int value : {200, 10, x}) {
      expected.pixels.push_back(Over(value / 255.0, x / 255.0));
    }
  }
  PngOptions options;
  options.color_type = 6;
  CHECK(Difference(ConvertOne(MakePng(256, 1, rows, options)).picture, expected) == 0);

  PngOptions grey;
  grey.color_type = 4;
  CHECK(ConvertOne(MakePng(2, 1, {100, 255, 100, 0}, grey), AsTheyAre(1)).picture.pixels ==
        std::vector<std::uint8_t>{100, 255});

  PngOptions deep;
  deep.color_type = 6;
  deep.bit_depth = 16;
  const std::vector<std::uint8_t> half = {0, 0, 0xFF, 0xFF, 0x40, 0, 0x80, 0};
  CHECK(ConvertOne(MakePng(1, 1, half, deep)).picture.pixels ==
        std::vector<std::uint8_t>{Over(0, 0x8000 / 65535.0), 255,
                                  Over(0x4000 / 65535.0, 0x8000 / 65535.0)});
}

TEST_CASE("PNGs with a palette, opaque or not, give the palette's colours") {
  PngOptions options;
  options.color_type = 3;
  options.palette = {255, 0, 0, 0, 255, 0, 10, 20, 30};
  CHECK(ConvertOne(MakePng(3, 1, {0, 1, 2}, options)).picture.pixels ==
        std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 10, 20, 30});
  options.palette_opacity = {255, 0};
  CHECK(ConvertOne(MakePng(3, 1, {0, 1, 2}, options)).picture.pixels ==
        std::vector<std::uint8_t>{255, 0, 0, 255, 255, 255, 10, 20, 30});
}

TEST_CASE("a PNG's own Exif orientation turns it") {
  PngOptions options;
  options.orientation = 3;
  CHECK(ConvertOne(MakePng(2, 1, {1, 2, 3, 4, 5, 6}, options)).picture.pixels ==
        std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3});
}

TEST_CASE("an XMP packet's orientation turns a file whose Exif data state none") {
  const std::string attribute = "<rdf:Description tiff:Orientation=\"3\"/>";
  PngOptions options;
  options.xmp = attribute;
  const std::vector<std::uint8_t> turned = {4, 5, 6, 1, 2, 3};
  CHECK(ConvertOne(MakePng(2, 1, {1, 2, 3, 4, 5, 6}, options)).picture.pixels == turned);
  options.xmp = "<tiff:Orientation>3</tiff:Orientation>";
  CHECK(ConvertOne(MakePng(2, 1, {1, 2, 3, 4, 5, 6}, options)).picture.pixels == turned);
  options.orientation = 1;  // in the Exif data, which count first
  CHECK(ConvertOne(MakePng(2, 1, {1, 2, 3, 4, 5, 6}, options)).picture.pixels ==
        std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
  const FileBytes jpeg = MakeJpeg(MakePicture(20, 10));
  CHECK(ConvertOne(WithXmp(jpeg, "<x tiff:Orientation='6'/>")).picture.width == 10);
  CHECK(ConvertOne(WithOrientation(WithXmp(jpeg, "<x tiff:Orientation='6'/>"), 3)).picture.width ==
        20);
  for (const char* none : {"tiff:Orientation", "tiff:Orientation=\"66\"", "tiff:Orientation='9'"})
    CHECK(ConvertOne(WithXmp(jpeg, none)).picture.width == 20);
}

namespace {

// A chunk of a PNG; a damaged one has a wrong checksum.
std::string PngChunk(const std::string& name, const std::string& content, bool damaged = false) {
  std::string text = name + content;
  uLong sum = crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  if (damaged) ++sum;
  std::string whole;
  for (int shift = 24; shift >= 0; shift -= 8)
    whole += static_cast<char>(content.size() >> shift);
  whole += text;
  for (int shift = 24; shift >= 0; shift -= 8)
    whole += static_cast<char>(sum >> shift);
  return whole;
}

}  // namespace

TEST_CASE("a PNG's damaged chunks are passed over, unless its pixels depend on them") {
  const std::vector<std::uint8_t> rows = {1, 2, 3, 4, 5, 6};
  const FileBytes plain = MakePng(2, 1, rows);
  const auto with = [&](const std::string& chunk, std::size_t at) {
    FileBytes file = plain;
    const Bytes bytes = AsBytes(chunk);
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
    return ConvertOne(file);
  };
  // The signature and the chunk IHDR take 33 bytes, the chunk IEND takes 12.
  const std::size_t after_header = 33;
  const std::size_t before_end = plain.size() - 12;
  const std::string upside_down("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\3\0\0\0\0\0\0", 26);
  CHECK(with(PngChunk("eXIf", upside_down), after_header).picture.pixels ==
        std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3});
  for (const std::size_t at : {after_header, before_end}) {
    CAPTURE(at);
    for (const char* const name :
         {"gAMA", "cHRM", "sRGB", "pHYs", "tIME", "iCCP", "caNv", "vpAg"}) {
      CAPTURE(name);
      CHECK(with(PngChunk(name, "1234", true), at).picture.pixels == rows);
    }
    CHECK(with(PngChunk("eXIf", upside_down, true), at).picture.pixels == rows);
    for (const char* const name : {"PLTE", "IDAT", "tRNS", "tRNs", "trNS", "PRIv"}) {
      CAPTURE(name);
      CHECK_THAT(with(PngChunk(name, "123456", true), at).reason,
                 Catch::Matchers::StartsWith("broken PNG"));
    }
  }
}

TEST_CASE("a PNG's XMP counts, and its other texts do not, whatever they hold") {
  const std::vector<std::uint8_t> rows = {1, 2, 3, 4, 5, 6};
  const FileBytes plain = MakePng(2, 1, rows);
  const auto with = [&](const std::string& texts, std::size_t at) {
    FileBytes file = plain;
    const Bytes bytes = AsBytes(texts);
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
    return ConvertOne(file).picture.pixels;
  };
  std::string deflated(20'000, 0);
  const std::string long_text(9 << 20, 'x');
  uLongf size = deflated.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(deflated.data()), &size,
                   reinterpret_cast<const Bytef*>(long_text.data()), long_text.size()) == Z_OK);
  deflated.resize(size);
  std::string many;
  for (int i = 0; i < 3000; ++i)
    many += PngChunk("tEXt", "key" + std::to_string(i) + '\0' + "value");
  const std::size_t after_header = 33;
  const std::size_t before_end = plain.size() - 12;
  for (const std::size_t at : {after_header, before_end}) {
    CHECK(with(PngChunk("zTXt", std::string("key\0\0", 5) + deflated), at) == rows);
    CHECK(with(PngChunk("iTXt", std::string("key\0\1\0\0\0", 8) + deflated), at) == rows);
    CHECK(with(many, at) == rows);
    for (const char* const name : {"tEXt", "zTXt", "iTXt"})
      CHECK(with(PngChunk(name, "damaged", true), at) == rows);
    const std::string xmp =
        std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + "<tiff:Orientation>3</tiff:Orientation>";
    CHECK(with(many + PngChunk("iTXt", xmp), at) == std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3});
    CHECK(with(PngChunk("iTXt", xmp, true), at) == rows);
  }
}

TEST_CASE("files that end early are left out as broken") {
  for (const bool progressive : {false, true}) {
    const FileBytes jpeg = MakeJpeg(MakePicture(200, 200), {.progressive = progressive});
    for (const std::size_t count : {std::size_t{3}, std::size_t{100}, jpeg.size() / 2}) {
      CHECK_FALSE(ConvertOne(Truncated(jpeg, count)).reason.empty());
    }
  }
  const FileBytes png = MakePng(MakePicture(200, 200));
  for (const std::size_t count :
       {std::size_t{8}, std::size_t{30}, png.size() / 2, png.size() - 12}) {
    CHECK_FALSE(ConvertOne(Truncated(png, count)).reason.empty());
  }
}

TEST_CASE("a JPEG that lacks only its end marker is whole") {
  const FileBytes file = MakeJpeg(MakePicture(50, 50));
  const Converted converted = ConvertOne(Truncated(file, file.size() - 2));
  CHECK(converted.reason.empty());
  CHECK(Difference(converted.picture, DecodeJpeg(file)) == 0);
}

TEST_CASE("a file with damaged data is broken, and one with bytes between its markers is not") {
  FileBytes png = MakePng(MakePicture(60, 60));
  png[png.size() / 2] ^= std::byte{1};
  CHECK(ConvertOne(png).reason.find("PNG") != std::string::npos);
  // Every decoder skips bytes between two markers.
  const FileBytes jpeg = MakeJpeg(MakePicture(60, 60));
  FileBytes junk(jpeg.begin(), jpeg.begin() + 20);  // up to the end of the first segment
  junk.insert(junk.end(), 5, std::byte{0x11});
  junk.insert(junk.end(), jpeg.begin() + 20, jpeg.end());
  CHECK(Difference(ConvertOne(junk).picture, DecodeJpeg(jpeg)) == 0);
}

TEST_CASE("a 12-bit or lossless JPEG is called unsupported") {
  FileBytes file = MakeJpeg(MakePicture(16, 16));
  std::size_t frame = 0;
  while (file[frame] != std::byte{0xFF} || file[frame + 1] != std::byte{0xC0})
    ++frame;
  FileBytes deep = file;
  deep[frame + 4] = std::byte{12};
  CHECK(ConvertOne(deep).reason.find("unsupported") != std::string::npos);
  FileBytes lossless = file;
  lossless[frame + 1] = std::byte{0xC3};
  CHECK(ConvertOne(lossless).reason.find("unsupported") != std::string::npos);
}

TEST_CASE("a header with absurd sizes is refused before memory is taken") {
  FileBytes file = MakeJpeg(MakePicture(16, 16));
  std::size_t frame = 0;
  while (file[frame] != std::byte{0xFF} || file[frame + 1] != std::byte{0xC0})
    ++frame;
  for (std::size_t i = 5; i < 9; ++i)
    file[frame + i] = std::byte{0xFA};
  CHECK(ConvertOne(file).reason.find("64250x64250") != std::string::npos);
}

TEST_CASE("max_pixels refuses larger images and accepts images of that size") {
  ConvertOptions options = AsTheyAre();
  options.run.max_pixels = 2000;
  CHECK(ConvertOne(MakeJpeg(MakePicture(50, 40)), options).reason.empty());
  CHECK(ConvertOne(MakeJpeg(MakePicture(50, 41)), options).reason.find("50x41") !=
        std::string::npos);
  CHECK(ConvertOne(MakePng(MakePicture(50, 41)), options).reason.find("50x41") !=
        std::string::npos);
}

TEST_CASE("a progressive JPEG with hundreds of scans is refused") {
  std::vector<jpeg_scan_info> scans = {{1, {0, 0, 0, 0}, 0, 0, 0, 0}};
  for (int i = 0; i < 150; ++i) {
    // libjpeg refuses to write a coefficient twice, so each scan has one coefficient.
    if (i < 63) scans.push_back({1, {0, 0, 0, 0}, i + 1, i + 1, 0, 0});
  }
  FileBytes file = EncodeWith(MakePicture(16, 16, 1), [&](jpeg_compress_struct& jpeg) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  });
  CHECK(ConvertOne(file).reason.empty());  // 64 scans are many, and fine
  // To make more scans, the last one is repeated, from its header to the end of the image.
  std::size_t last = file.size() - 2;
  while (file[last] != std::byte{0xFF} || file[last + 1] != std::byte{0xDA})
    --last;
  const FileBytes scan(file.begin() + static_cast<std::ptrdiff_t>(last), file.end() - 2);
  for (int i = 0; i < 50; ++i)
    file.insert(file.end() - 2, scan.begin(), scan.end());
  CHECK(ConvertOne(file).reason.find("scans") != std::string::npos);
}

}  // namespace sluice::test
