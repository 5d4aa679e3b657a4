// TIFF files that libtiff writes from known pixels.
#ifdef SLUICE_HAS_TIFF
#include <algorithm>
#include <cmath>
#include <functional>

#include <tiffio.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Values = std::vector<std::uint8_t>;

struct Page {
  std::uint32_t width = 0, height = 0;
  unsigned bits = 8, samples = 3;
  unsigned photometric = PHOTOMETRIC_RGB;
  std::function<void(TIFF*)> set_tags = {};  // further tags
  Values rows;                               // stored values; those of 16 bits are native-endian
};

void WritePage(TIFF* file, const Page& page) {
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, page.width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, page.height);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, page.bits);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, page.samples);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, page.photometric);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 2);
  if (page.set_tags) page.set_tags(file);
  const std::size_t stride = page.rows.size() / page.height;
  for (std::uint32_t y = 0; y < page.height; ++y) {
    TIFFWriteScanline(file, const_cast<std::uint8_t*>(&page.rows[y * stride]), y, 0);
  }
  TIFFWriteDirectory(file);
}

FileBytes WriteWith(const std::function<void(TIFF*)>& write, const char* mode = "w") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "made.tif";
  TIFF* const file = TIFFOpen(path.c_str(), mode);
  write(file);
  TIFFClose(file);
  const std::string text = ContentOf(path);
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

FileBytes WriteTiff(const std::vector<Page>& pages, const char* mode = "w") {
  return WriteWith(
      [&pages](TIFF* file) {
        for (const Page& page : pages)
          WritePage(file, page);
      },
      mode);
}

Page Rgb(const Picture& picture) {
  return {picture.width, picture.height, 8, 3, PHOTOMETRIC_RGB, {}, picture.pixels};
}

}  // namespace

TEST_CASE("greys of a TIFF in L*a*b* stay grey") {
  // L* is stored as 0 to 255 for 0 to 100. Expected: CIE's Y of L*, then sRGB's curve.
  const auto grey = [](double lightness) {
    const double f = (lightness + 16) / 116;
    const double y = lightness > 8 ? f * f * f : lightness / 903.3;
    return 255 * (y > 0.0031308 ? 1.055 * std::pow(y, 1 / 2.4) - 0.055 : 12.92 * y);
  };
  for (const int stored : {13, 51, 128, 204, 255}) {
    const Values pixel = {static_cast<std::uint8_t>(stored), 0, 0};
    const Picture shown =
        ConvertOne(
            WriteTiff(
                {{.width = 1, .height = 1, .photometric = PHOTOMETRIC_CIELAB, .rows = pixel}}))
            .picture;
    const double expected = grey(stored / 2.55);
    CAPTURE(stored);
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(std::abs(shown.pixels.at(c) - expected) < 1.5);
    const auto [least, most] = std::minmax_element(shown.pixels.begin(), shown.pixels.end());
    CHECK(*most - *least <= 1);
  }
}

TEST_CASE("TIFFs of RGB keep their pixels in either byte order, in strips, tiles or planes") {
  const Picture picture = MakePicture(21, 17);
  for (const char* mode : {"wl", "wb", "w8"}) {  // little-endian, big-endian, BigTIFF
    INFO(mode);
    CHECK(Difference(ConvertOne(WriteTiff({Rgb(picture)}, mode)).picture, picture) == 0);
  }
  const FileBytes tiled = WriteWith([&](TIFF* file) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 21);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 17);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 16);
    Values tile(16 * 16 * 3);
    for (std::uint32_t top = 0; top < 17; top += 16) {
      for (std::uint32_t left = 0; left < 21; left += 16) {
        for (std::uint32_t y = top; y < std::min(top + 16, 17U); ++y) {
          for (std::uint32_t x = left; x < std::min(left + 16, 21U); ++x)
            std::copy_n(picture.at(x, y), 3, &tile[((y - top) * 16 + x - left) * 3]);
        }
        TIFFWriteTile(file, tile.data(), left, top, 0, 0);
      }
    }
  });
  CHECK(Difference(ConvertOne(tiled).picture, picture) == 0);
  const FileBytes planes = WriteWith([&](TIFF* file) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 21);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 17);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 5);
    for (std::uint16_t c = 0; c < 3; ++c) {
      for (std::uint32_t y = 0; y < 17; ++y) {
        Values row;
        for (std::uint32_t x = 0; x < 21; ++x)
          row.push_back(picture.at(x, y)[c]);
        TIFFWriteScanline(file, row.data(), y, c);
      }
    }
  });
  CHECK(Difference(ConvertOne(planes).picture, picture) == 0);
}

TEST_CASE("grey TIFFs of 1, 8 and 16 bits use the whole range") {
  const auto grey = [](const Page& page) {
    return ConvertOne(WriteTiff({page}), AsTheyAre(1)).picture.pixels;
  };
  CHECK(grey({.width = 8,
              .height = 1,
              .bits = 1,
              .samples = 1,
              .photometric = PHOTOMETRIC_MINISBLACK,
              .rows = {0b10110000}}) == Values{255, 0, 255, 255, 0, 0, 0, 0});
  CHECK(grey({.width = 8,
              .height = 1,
              .bits = 1,
              .samples = 1,
              .photometric = PHOTOMETRIC_MINISWHITE,
              .rows = {0b10110000}}) == Values{0, 255, 0, 0, 255, 255, 255, 255});
  CHECK(grey({.width = 3,
              .height = 1,
              .samples = 1,
              .photometric = PHOTOMETRIC_MINISBLACK,
              .rows = {0, 7, 255}}) == Values{0, 7, 255});
  Page deep{.width = 256,
            .height = 1,
            .bits = 16,
            .samples = 1,
            .photometric = PHOTOMETRIC_MINISBLACK,
            .rows = {}};
  Values expected;
  for (unsigned x = 0; x < 256; ++x) {
    const unsigned value = std::min(x * 257 + 70, 0xFFFFU);
    deep.rows.push_back(static_cast<std::uint8_t>(value));
    deep.rows.push_back(static_cast<std::uint8_t>(value >> 8));
    expected.push_back(static_cast<std::uint8_t>(std::lround(value / 257.0)));
  }
  CHECK(grey(deep) == expected);
  // Stored as RGB, a grey has three equal values.
  CHECK(ConvertOne(WriteTiff({Page{.width = 1,
                                   .height = 1,
                                   .samples = 1,
                                   .photometric = PHOTOMETRIC_MINISBLACK,
                                   .rows = {77}}}))
            .picture.pixels == Values{77, 77, 77});
}

namespace {

template <class T>
Values BytesOfAll(const std::vector<T>& values) {
  const Bytes bytes = std::as_bytes(std::span(values));
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

Page FloatPage(std::uint32_t width, unsigned bits, Values rows) {
  const unsigned samples = 3;
  return {width,
          1,
          bits,
          samples,
          PHOTOMETRIC_RGB,
          [](TIFF* file) { TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP); },
          std::move(rows)};
}

}  // namespace

TEST_CASE("TIFFs that use a small part of their 16 or 32 bits, or of 0 to 1, are dim") {
  const auto dim = [](const Page& page) {
    const Converted converted = ConvertOne(WriteTiff({page}));
    CHECK(converted.reason.empty());
    return converted.summary.dim.count == 1;
  };
  const auto whole = [](unsigned bits, const Values& rows) {
    return Page{.width = 2,
                .height = 1,
                .bits = bits,
                .samples = 1,
                .photometric = PHOTOMETRIC_MINISBLACK,
                .rows = rows};
  };
  CHECK(dim(whole(16, BytesOfAll<std::uint16_t>({0, 4095}))));
  CHECK_FALSE(dim(whole(16, BytesOfAll<std::uint16_t>({0, 40'950}))));
  CHECK(dim(whole(32, BytesOfAll<std::uint32_t>({0, 255}))));
  CHECK_FALSE(dim(whole(32, BytesOfAll<std::uint32_t>({0, 0x50000000}))));
  CHECK(dim(FloatPage(1, 32, BytesOfAll<float>({0, 0.1F, 0.2F}))));
  CHECK_FALSE(dim(FloatPage(1, 32, BytesOfAll<float>({0, 0.1F, 0.3F}))));
  CHECK_FALSE(dim(whole(8, {0, 3})));
}

TEST_CASE("TIFFs of 16 and 32 bits and of floating-point numbers are rounded to 8 bits") {
  const Values expected = {0, 128, 255, 51, 254, 1};
  const std::vector<double> values = {0, 0.5019, 1, 0.2, 254.4 / 255, 0.6 / 255};
  std::vector<float> floats;
  std::vector<std::uint32_t> whole;
  std::vector<std::uint16_t> halves = {0, 0x3804, 0x3C00, 0x3266, 0x3BFB, 0x18D2};  // binary16
  for (const double value : values) {
    floats.push_back(static_cast<float>(value));
    whole.push_back(static_cast<std::uint32_t>(std::lround(value * 4294967295.0)));
  }
  CHECK(ConvertOne(WriteTiff({FloatPage(2, 64, BytesOfAll(values))})).picture.pixels == expected);
  CHECK(ConvertOne(WriteTiff({FloatPage(2, 32, BytesOfAll(floats))})).picture.pixels == expected);
  CHECK(LargestDifference(
            ConvertOne(WriteTiff({FloatPage(2, 16, BytesOfAll(halves))})).picture.pixels,
            expected) <= 1);
  CHECK(
      ConvertOne(WriteTiff({Page{.width = 2, .height = 1, .bits = 32, .rows = BytesOfAll(whole)}}))
          .picture.pixels == expected);
  // Opacity of 16 bits: colour and opacity are rounded once.
  Page page{.width = 1,
            .height = 1,
            .bits = 16,
            .samples = 4,
            .rows = BytesOfAll<std::uint16_t>({65'535, 0, 300, 32'768})};
  const std::uint16_t kind = EXTRASAMPLE_UNASSALPHA;
  page.set_tags = [&kind](TIFF* file) { TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &kind); };
  CHECK(ConvertOne(WriteTiff({page})).picture.pixels ==
        Values{255, Over(0, 32'768 / 65'535.0), Over(300 / 65'535.0, 32'768 / 65'535.0)});
}

TEST_CASE("a 16-bit TIFF is read in tiles and in planes, too") {
  const auto set_tags = [](TIFF* file, int planes) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 18);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 17);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, planes);
  };
  const auto value = [](unsigned x, unsigned y, unsigned c) {
    return static_cast<std::uint16_t>((x * 10 + y + c * 5) * 257);
  };
  const FileBytes tiled = WriteWith([&](TIFF* file) {
    set_tags(file, PLANARCONFIG_CONTIG);
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 16);
    for (const unsigned top : {0U, 16U}) {
      for (const unsigned left : {0U, 16U}) {
        std::vector<std::uint16_t> tile;
        for (unsigned i = 0; i < 16 * 16 * 3; ++i)
          tile.push_back(value(left + i / 3 % 16, top + i / 48, i % 3));
        TIFFWriteTile(file, tile.data(), left, top, 0, 0);
      }
    }
  });
  const FileBytes planes = WriteWith([&](TIFF* file) {
    set_tags(file, PLANARCONFIG_SEPARATE);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 5);
    for (std::uint16_t c = 0; c < 3; ++c) {
      for (unsigned y = 0; y < 17; ++y) {
        std::vector<std::uint16_t> row;
        for (unsigned x = 0; x < 18; ++x)
          row.push_back(value(x, y, c));
        TIFFWriteScanline(file, row.data(), y, c);
      }
    }
  });
  for (const FileBytes& file : {tiled, planes}) {
    const Picture picture = ConvertOne(file).picture;
    REQUIRE(picture.pixels.size() == 18 * 17 * 3);
    for (unsigned i = 0; i < 18 * 17 * 3; ++i)
      REQUIRE(picture.pixels[i] == value(i / 3 % 18, i / 54, i % 3) / 257);
  }
}

TEST_CASE("TIFFs whose values have other numbers of bits than 8, 16 and 32 use the whole range") {
  for (const unsigned bits : {2U, 4U, 6U, 9U, 10U, 11U, 12U, 13U, 14U, 15U, 24U}) {
    for (const unsigned samples : {1U, 3U}) {
      if (samples == 1 && bits < 6) continue;  // libtiff reads these itself
      constexpr std::uint32_t kWidth = 5, kHeight = 3;
      const std::uint32_t most = (1U << bits) - 1;
      Page page{.width = kWidth, .height = kHeight, .bits = bits, .samples = samples, .rows = {}};
      if (samples == 1) page.photometric = PHOTOMETRIC_MINISBLACK;
      Values expected;
      for (std::uint32_t y = 0; y < kHeight; ++y) {
        std::vector<bool> row;  // the highest bit of each value first
        for (std::uint32_t i = 0; i < kWidth * samples; ++i) {
          const std::uint32_t value = (i * 0x9E3779B1U + y * 0x85EBCA77U) >> (32 - bits);
          for (unsigned bit = bits; bit-- > 0;)
            row.push_back((value >> bit & 1) != 0);
          if (bits ==
              24) {  // libtiff takes these in the machine's order, here the lowest byte first
            for (unsigned bit = 0; bit < 8; ++bit) {
              const std::size_t at = row.size() - 24 + bit;
              const bool high = row[at];
              row[at] = row[at + 16];
              row[at + 16] = high;
            }
          }
          expected.insert(expected.end(), samples == 1 ? 3 : 1,
                          static_cast<std::uint8_t>(std::lround(255.0 * value / most)));
        }
        row.resize((row.size() + 7) / 8 * 8);
        for (std::size_t i = 0; i < row.size(); i += 8) {
          unsigned byte = 0;
          for (std::size_t bit = 0; bit < 8; ++bit)
            byte = byte << 1 | (row[i + bit] ? 1U : 0U);
          page.rows.push_back(static_cast<std::uint8_t>(byte));
        }
      }
      CAPTURE(bits, samples);
      for (const char* const mode : {"wl", "wb"}) {
        const Converted converted = ConvertOne(WriteTiff({page}, mode));
        CHECK(converted.reason.empty());
        CHECK(LargestDifference(converted.picture.pixels, expected) <= 1);
      }
    }
  }
}

TEST_CASE("a TIFF with a palette of 16 bits gives its colours") {
  std::vector<std::uint16_t> map(3 << 16);
  const std::size_t index = 40'000, plane = 1 << 16;
  map[index] = 200 * 257, map[plane + index] = 100 * 257, map[2 * plane + index] = 50 * 257;
  Page page{.width = 2,
            .height = 1,
            .bits = 16,
            .samples = 1,
            .photometric = PHOTOMETRIC_PALETTE,
            .rows = BytesOfAll<std::uint16_t>({40'000, 7})};
  page.set_tags = [&](TIFF* file) {
    TIFFSetField(file, TIFFTAG_COLORMAP, map.data(), map.data() + plane, map.data() + 2 * plane);
  };
  CHECK(ConvertOne(WriteTiff({page})).picture.pixels == Values{200, 100, 50, 0, 0, 0});
}

TEST_CASE("a TIFF whose numbers do not say how bright they are is left out with a reason") {
  CHECK(ConvertOne(WriteTiff({FloatPage(1, 32, BytesOfAll<float>({0, 17, 255}))})).reason ==
        "unsupported TIFF: its values go from 0 to 255, and not from 0 to 1");
  CHECK_THAT(ConvertOne(WriteTiff({FloatPage(1, 32, BytesOfAll<float>({0, NAN, 1}))})).reason,
             StartsWith("unsupported TIFF: some of its values are not numbers"));
  Page page{.width = 1,
            .height = 1,
            .bits = 16,
            .samples = 1,
            .photometric = PHOTOMETRIC_MINISBLACK,
            .rows = {1, 2}};
  page.set_tags = [](TIFF* file) { TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_INT); };
  CHECK(ConvertOne(WriteTiff({page})).reason == "unsupported TIFF: its values have signs");
}

TEST_CASE("an XMP packet turns a TIFF without an orientation of its own") {
  const Picture upright = MakePicture(12, 7);
  const std::string xmp = "<x tiff:Orientation='6'/>";
  Page page = Rgb(Stored(upright, 6));
  const auto write = [&](bool tag) {
    page.set_tags = [&, tag](TIFF* file) {
      TIFFSetField(file, TIFFTAG_XMLPACKET, static_cast<std::uint32_t>(xmp.size()), xmp.data());
      if (tag) TIFFSetField(file, TIFFTAG_ORIENTATION, 1);
    };
    return ConvertOne(WriteTiff({page})).picture;
  };
  CHECK(Difference(write(false), upright) == 0);
  CHECK(write(true).width == 7);
}

TEST_CASE("TIFFs with a palette give its colours, and CMYK TIFFs the colours of their inks") {
  std::vector<std::uint16_t> map(3 * 256);
  for (const auto& [index, red, green, blue] :
       {std::array{0, 255, 0, 0}, std::array{1, 10, 20, 30}}) {
    map[static_cast<std::size_t>(index)] = static_cast<std::uint16_t>(red * 257);
    map[static_cast<std::size_t>(256 + index)] = static_cast<std::uint16_t>(green * 257);
    map[static_cast<std::size_t>(512 + index)] = static_cast<std::uint16_t>(blue * 257);
  }
  Page page{
      .width = 2, .height = 1, .samples = 1, .photometric = PHOTOMETRIC_PALETTE, .rows = {1, 0}};
  page.set_tags = [&map](TIFF* file) {
    TIFFSetField(file, TIFFTAG_COLORMAP, map.data(), map.data() + 256, map.data() + 512);
  };
  CHECK(ConvertOne(WriteTiff({page})).picture.pixels == Values{10, 20, 30, 255, 0, 0});
  const Picture inks = ConvertOne(WriteTiff({Page{.width = 2,
                                                  .height = 1,
                                                  .samples = 4,
                                                  .photometric = PHOTOMETRIC_SEPARATED,
                                                  .rows = {0, 255, 0, 0, 0, 0, 0, 255}}}))
                           .picture;
  CHECK(inks.pixels == Values{255, 0, 255, 0, 0, 0});
}

TEST_CASE("a TIFF's opacity, premultiplied or not, is applied over the background") {
  ConvertOptions options = AsTheyAre();
  options.form.background = {40, 80, 120};
  for (const std::uint16_t kind : {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_ASSOCALPHA}) {
    Page page{.width = 256, .height = 1, .samples = 4, .rows = {}};
    page.set_tags = [kind](TIFF* file) { TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &kind); };
    Picture expected{256, 1, 3, {}};
    for (int x = 0; x < 256; ++x) {
      const double opacity = x / 255.0;
      const int values[] = {200, 10, x};
      for (std::size_t c = 0; c < 3; ++c) {
        const double stored = kind == EXTRASAMPLE_ASSOCALPHA ? values[c] * opacity : values[c];
        page.rows.push_back(static_cast<std::uint8_t>(std::lround(stored)));
        expected.pixels.push_back(Over(values[c] / 255.0, opacity, options.form.background[c]));
      }
      page.rows.push_back(static_cast<std::uint8_t>(x));
    }
    const Picture picture = ConvertOne(WriteTiff({page}), options).picture;
    // In the file, premultiplied values are rounded to eight bits.
    CHECK(LargestDifference(picture.pixels, expected.pixels) <= 2);
    CHECK(Difference(picture, expected) < 0.5);
  }
}

TEST_CASE("a grey TIFF's opacity is applied over the background, premultiplied or not") {
  ConvertOptions options = AsTheyAre();
  options.form.background = {0, 0, 0};
  for (const std::uint16_t kind : {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_ASSOCALPHA}) {
    Page page{.width = 1,
              .height = 1,
              .samples = 2,
              .photometric = PHOTOMETRIC_MINISBLACK,
              .rows = {100, 128}};
    page.set_tags = [kind](TIFF* file) { TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &kind); };
    const Values pixels = ConvertOne(WriteTiff({page}), options).picture.pixels;
    CHECK(pixels.at(0) == (kind == EXTRASAMPLE_UNASSALPHA ? 50 : 100));
  }
}

TEST_CASE("a TIFF's extra sample without a stated meaning is not opacity") {
  for (const unsigned samples : {4U, 5U}) {
    Page page{.width = 2, .height = 1, .samples = samples, .rows = {}};
    const std::array<std::uint16_t, 2> kinds = {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNSPECIFIED};
    page.set_tags = [&](TIFF* file) {
      TIFFSetField(file, TIFFTAG_EXTRASAMPLES, samples - 3, kinds.data());
    };
    for (const std::uint8_t extra : {0, 100}) {
      page.rows = {10, 20, 30, extra};
      page.rows.resize(samples);
      page.rows.insert(page.rows.end(), {200, 100, 50, 0});
      page.rows.resize(std::size_t{samples} * 2);
      CHECK(ConvertOne(WriteTiff({page})).picture.pixels == Values{10, 20, 30, 200, 100, 50});
    }
  }
}

TEST_CASE("a TIFF of many channels that claims to be grey is left out, not reduced to its first") {
  for (const unsigned samples : {3U, 5U}) {
    Page page{.width = 1,
              .height = 1,
              .samples = samples,
              .photometric = PHOTOMETRIC_MINISBLACK,
              .rows = {}};
    page.rows.resize(samples, 9);
    page.set_tags = [&](TIFF* file) {
      const std::array<std::uint16_t, 4> kinds{};
      TIFFSetField(file, TIFFTAG_EXTRASAMPLES, samples - 1, kinds.data());
    };
    CHECK_THAT(ConvertOne(WriteTiff({page})).reason,
               ContainsSubstring("and has " + std::to_string(samples) + " channels"));
  }
}

TEST_CASE("a TIFF's fax page in which libtiff finds damage is left out with libtiff's message") {
  Page page{.width = 200,
            .height = 100,
            .bits = 1,
            .samples = 1,
            .photometric = PHOTOMETRIC_MINISWHITE,
            .rows = {}};
  for (unsigned i = 0; i < 100 * 25; ++i)
    page.rows.push_back(static_cast<std::uint8_t>(i * 37 % 251 & i / 25));
  page.set_tags = [](TIFF* file) {
    TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_CCITTFAX4);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 100);
  };
  const FileBytes whole = WriteTiff({page});
  CHECK(ConvertOne(whole).reason == "");
  // The only strip begins after the header.
  for (const int value : {0x55, 0xFF}) {
    INFO(value);
    FileBytes damaged = whole;
    std::fill_n(damaged.begin() + 100, 400, static_cast<std::byte>(value));
    const std::string reason = ConvertOne(damaged).reason;
    INFO(reason);
    CHECK(reason.starts_with("broken TIFF: "));
    CHECK(reason.find("cannot be read") == std::string::npos);
    CHECK(reason.find(" at line ") != std::string::npos);
  }
}

TEST_CASE("a TIFF's fax page that ends before its last row is left out with libtiff's message") {
  Page page{.width = 200,
            .height = 100,
            .bits = 1,
            .samples = 1,
            .photometric = PHOTOMETRIC_MINISWHITE,
            .rows = {}};
  for (unsigned i = 0; i < 100 * 25; ++i)
    page.rows.push_back(static_cast<std::uint8_t>(i * 37 % 251 & i / 25));
  page.set_tags = [](TIFF* file) {
    TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_CCITTFAX4);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 100);
  };
  FileBytes early = WriteTiff({page});
  // libtiff takes zeros in the middle of the only strip for the page's end, and warns about the
  // row.
  std::fill_n(early.begin() + 2024, 8, std::byte{0});
  CHECK_THAT(ConvertOne(early).reason, StartsWith("broken TIFF: Premature EOL at line"));
}

TEST_CASE("a TIFF whose compressed pixels end in zeros is truncated: refused, or used on request") {
  for (const int codec : {COMPRESSION_CCITTFAX4, COMPRESSION_CCITTFAX3, COMPRESSION_LZW,
                          COMPRESSION_ADOBE_DEFLATE, COMPRESSION_JPEG}) {
    INFO("codec " << codec);
    const bool fax = codec == COMPRESSION_CCITTFAX4 || codec == COMPRESSION_CCITTFAX3;
    Page page{200, 100, fax ? 1U : 8U, 1, PHOTOMETRIC_MINISBLACK, {}, {}};
    for (unsigned i = 0; i < 100 * (fax ? 25U : 200U); ++i)
      page.rows.push_back(static_cast<std::uint8_t>(i * 37 % 251 & i / 25));
    page.set_tags = [codec](TIFF* file) {
      TIFFSetField(file, TIFFTAG_COMPRESSION, codec);
      TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 100);
    };
    FileBytes file = WriteTiff({page});
    CHECK(ConvertOne(file).reason == "");
    // The only strip lies before the directory. Its second half becomes zeros.
    const std::size_t end = LoadAt<std::uint32_t>(file, 4);
    std::fill(file.begin() + static_cast<std::ptrdiff_t>(end / 2),
              file.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
    CHECK(ConvertOne(file).reason == "broken TIFF: it is cut short: its pixels end in zeros");
    ConvertOptions accept = AsTheyAre();
    accept.form.truncated = sluice::Truncated::kAccept;
    CHECK(ConvertOne(file, accept).summary.truncated.size() == 1);
  }
}

TEST_CASE("a TIFF whose pixels are zeros does not count as truncated") {
  for (const int codec : {COMPRESSION_NONE, COMPRESSION_PACKBITS, COMPRESSION_LZW,
                          COMPRESSION_ADOBE_DEFLATE, COMPRESSION_CCITTFAX4}) {
    INFO("codec " << codec);
    const bool fax = codec == COMPRESSION_CCITTFAX4;
    Page page{64, 64, fax ? 1U : 8U, 1, PHOTOMETRIC_MINISBLACK, {}, {}};
    page.rows.resize(64 * (fax ? 8 : 64));
    page.set_tags = [codec](TIFF* file) { TIFFSetField(file, TIFFTAG_COMPRESSION, codec); };
    CHECK(ConvertOne(WriteTiff({page})).reason == "");
  }
}

TEST_CASE("a TIFF that ends early is refused or used as far as it goes") {
  const Picture picture = MakePicture(40, 40);
  FileBytes moved = WriteTiff({Rgb(picture)}, "wl");
  // Sets the offset of the last strip beyond the file's end. The entry with tag 273 points to the
  // list of the 20 strips' offsets.
  std::size_t entry = LoadAt<std::uint32_t>(moved, 4) + 2;
  while (LoadAt<std::uint16_t>(moved, entry) != 273)
    entry += 12;
  const std::size_t size = LoadAt<std::uint16_t>(moved, entry + 2) == 3 ? 2 : 4;
  REQUIRE(LoadAt<std::uint32_t>(moved, entry + 4) == 20);
  std::fill_n(moved.begin() + LoadAt<std::uint32_t>(moved, entry + 8) +
                  static_cast<std::ptrdiff_t>(19 * size),
              size, std::byte{0xFF});
  CHECK(ConvertOne(moved).reason.find("broken TIFF: it is cut short") == 0);
  ConvertOptions accept = AsTheyAre();
  accept.form.truncated = sluice::Truncated::kAccept;
  const Converted converted = ConvertOne(moved, accept);
  CHECK(converted.summary.truncated.size() == 1);
  CHECK(std::equal(picture.pixels.begin(), picture.pixels.begin() + 38 * 40 * 3,
                   converted.picture.pixels.begin()));
  CHECK(converted.picture.pixels.back() == 0);
}

TEST_CASE("a TIFF's orientation turns it") {
  const Picture upright = MakePicture(12, 7);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    INFO("orientation " << orientation);
    Page page = Rgb(Stored(upright, orientation));
    page.set_tags = [orientation](TIFF* file) {
      TIFFSetField(file, TIFFTAG_ORIENTATION, orientation);
    };
    CHECK(Difference(ConvertOne(WriteTiff({page})).picture, upright) == 0);
  }
}

TEST_CASE("the first page of a TIFF with several pages is used") {
  const Picture first = MakePicture(9, 8);
  CHECK(Difference(ConvertOne(WriteTiff({Rgb(first), Rgb(MakePicture(30, 20))})).picture, first) ==
        0);
}

TEST_CASE("TIFFs that cannot or should not be read are left out with a reason") {
  const auto says = [](const FileBytes& file, const char* what,
                       const ConvertOptions& options = AsTheyAre()) {
    const std::string reason = ConvertOne(file, options).reason;
    INFO(reason);
    return reason.find(what) != std::string::npos;
  };
  const Picture picture = MakePicture(40, 40);
  const FileBytes file = WriteTiff({Rgb(picture)});
  for (const std::size_t count : {std::size_t{8}, file.size() / 2}) {
    CHECK(says(Truncated(file, count), "broken TIFF"));
  }
  FileBytes damaged = file;
  std::fill_n(damaged.begin() + 60, 200, std::byte{0xFF});
  CHECK(says(damaged, "broken TIFF"));
  Page thumbnail = Rgb(picture);
  thumbnail.set_tags = [](TIFF* tiff) {
    TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
  };
  CHECK(says(WriteTiff({thumbnail, Rgb(picture)}), "raw files"));
  ConvertOptions options = AsTheyAre();
  options.run.max_pixels = 1599;
  CHECK(says(file, "40x40 pixels", options));
}

TEST_CASE("a small TIFF in a huge tile is refused before memory is taken for the tile") {
  const FileBytes file = WriteWith([](TIFF* tiff) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 4);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 65536);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, 65536);
    std::uint8_t byte = 0;
    TIFFWriteRawTile(tiff, 0, &byte, 1);
  });
  CHECK(ConvertOne(file).reason.find("tiles or strips take 4294967296 bytes") != std::string::npos);
}

}  // namespace sluice::test
#endif
