// Our encoder against libjpeg-turbo's: the same samples, and the same coefficients, must become the
// same bytes, with every set of kernels.
#include <algorithm>
#include <cstdlib>

#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/pack.h"
#include "format/random.h"
#include "tests/baseline_header.h"
#include "tests/catch.h"
#include "tests/libjpeg_rewrite.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"

namespace sluice::test {

namespace {

using FileBytes = std::vector<std::byte>;

// Samples of each component in whole MCUs; samples beyond the picture are arbitrary.
struct Planes {
  baseline::Header header;
  std::size_t stride[3] = {};
  std::vector<std::uint8_t> samples[3];
};

template <class Value>
Planes MakePlanes(const Form& form, const Value& value) {
  Planes planes;
  planes.header = HeaderFor(form);
  for (std::uint32_t c = 0; c < form.components; ++c) {
    const baseline::Component& component = planes.header.component[c];
    planes.stride[c] = std::size_t{planes.header.mcus_across} * component.h * 8;
    const std::size_t lines = std::size_t{planes.header.mcus_down} * component.v * 8;
    for (std::size_t y = 0; y < lines; ++y) {
      for (std::size_t x = 0; x < planes.stride[c]; ++x)
        planes.samples[c].push_back(value(c, x, y));
    }
  }
  return planes;
}

void FillRow(const Planes& planes, std::uint32_t row, baseline::LineTransform& transform) {
  for (std::uint32_t c = 0; c < planes.header.components; ++c) {
    for (std::uint32_t line = 0; line < transform.lines(c); ++line) {
      const std::size_t y = std::size_t{row} * transform.lines(c) + line;
      std::copy_n(planes.samples[c].data() + y * planes.stride[c], transform.width(c),
                  transform.Line(c, line));
    }
  }
}

FileBytes EncodeOurs(const Planes& planes, const kernels::Kernels& set) {
  baseline::LineTransform transform(set, planes.header);
  baseline::FileWriter file(set, planes.header);
  for (std::uint32_t row = 0; row < planes.header.mcus_down; ++row) {
    FillRow(planes, row, transform);
    file.Add(transform.Run(row));
  }
  return file.Finish();
}

// Our coefficients before they are coded. The file must hold the same ones.
packed::Coefficients TransformOurs(const Planes& planes, const kernels::Kernels& set) {
  baseline::LineTransform transform(set, planes.header);
  packed::Coefficients made;
  REQUIRE(packed::BeginCoefficients(planes.header, made));
  std::int16_t* const blocks[] = {made.blocks[0].data(), made.blocks[1].data(),
                                  made.blocks[2].data()};
  for (std::uint32_t row = 0; row < planes.header.mcus_down; ++row) {
    FillRow(planes, row, transform);
    transform.RunPlanes(row, blocks);
  }
  return made;
}

FileBytes EncodeByLibjpeg(const Planes& planes, int quality) {
  const baseline::Header& header = planes.header;
  jpeg_compress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);
  jpeg_create_compress(&object);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&object, &memory, &size);
  object.image_width = header.width;
  object.image_height = header.height;
  object.input_components = static_cast<int>(header.components);
  object.in_color_space = header.components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(&object);
  jpeg_set_quality(&object, quality, TRUE);
  object.comp_info[0].h_samp_factor = header.component[0].h;
  object.comp_info[0].v_samp_factor = header.component[0].v;
  object.restart_interval = header.restart_interval;
  object.raw_data_in = TRUE;
  jpeg_start_compress(&object, TRUE);
  for (std::uint32_t row = 0; row < header.mcus_down; ++row) {
    std::vector<JSAMPROW> rows[3];
    JSAMPARRAY image[3] = {};
    for (std::uint32_t c = 0; c < header.components; ++c) {
      const std::size_t lines = 8U * header.component[c].v;
      for (std::size_t line = 0; line < lines; ++line) {
        rows[c].push_back(const_cast<JSAMPROW>(planes.samples[c].data() +
                                               (row * lines + line) * planes.stride[c]));
      }
      image[c] = rows[c].data();
    }
    jpeg_write_raw_data(&object, image, 8U * header.max_v);
  }
  jpeg_finish_compress(&object);
  jpeg_destroy_compress(&object);
  const auto* bytes = reinterpret_cast<const std::byte*>(memory);
  FileBytes file(bytes, bytes + size);
  std::free(memory);
  return file;
}

void CheckSame(const Planes& planes, int quality) {
  const FileBytes expected = EncodeByLibjpeg(planes, quality);
  packed::Coefficients blocks;
  std::string why;
  REQUIRE(packed::ReadCoefficients(expected, blocks, why) == packed::Taken::kYes);
  for (const kernels::Kernels* set : Sets()) {
    INFO(set->name);
    // The parentheses keep Catch2 from printing the bytes.
    CHECK((EncodeOurs(planes, *set) == expected));
    CHECK((packed::Pack(TransformOurs(planes, *set)) == packed::Pack(blocks)));
  }
}

// A smooth picture with edges.
std::uint8_t Photo(std::uint32_t c, std::size_t x, std::size_t y) {
  const std::size_t value = (x * (c + 2) * 3 + y * 5) / 4 + ((x / 11 + y / 7) % 2) * 60;
  return static_cast<std::uint8_t>(value % 256);
}

// The file, transcoded by our own reader and writer.
FileBytes RewriteOurs(const FileBytes& file, std::uint32_t interval, const kernels::Kernels& set) {
  baseline::BlockReader reader(set);
  REQUIRE(reader.Begin(file));
  baseline::Header header = reader.header();
  header.restart_interval = interval;
  baseline::FileWriter out(set, header);
  REQUIRE(reader.ReadLines([&](const std::int16_t* blocks) {
    out.Add(blocks);
    return true;
  }));
  return out.Finish();
}

constexpr std::pair<int, int> kSamplings[] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};

}  // namespace

TEST_CASE("planes become libjpeg's bytes, at any size and sampling") {
  for (const auto& [h, v] : kSamplings) {
    for (std::uint32_t size = 1; size <= 34; ++size) {
      INFO(h << "x" << v << " of " << size);
      CheckSame(MakePlanes({size, 35 - size, 3, h, v}, Photo), 90);
      CheckSame(MakePlanes({61 - size, size, 1, 1, 1}, Photo), 90);
    }
  }
}

TEST_CASE("every quality has libjpeg's steps and quotients, for noise and for the extremes") {
  RandomStream random(7, static_cast<Purpose>(999), 0);
  const auto noise = [&](std::uint32_t, std::size_t, std::size_t) {
    return static_cast<std::uint8_t>(random.Below(256));
  };
  const auto extremes = [&](std::uint32_t, std::size_t, std::size_t) {
    return static_cast<std::uint8_t>(random.Below(2) * 255);
  };
  // Each frequency at its largest: the signs of one basis function per block.
  const auto waves = [](std::uint32_t c, std::size_t x, std::size_t y) {
    const std::size_t u = (x / 8 + c) % 8, w = y / 8 % 8;
    const bool left = (2 * (x % 8) + 1) * u / 8 % 4 % 3 == 0;
    const bool top = (2 * (y % 8) + 1) * w / 8 % 4 % 3 == 0;
    return static_cast<std::uint8_t>(left == top ? 255 : 0);
  };
  for (int quality = 1; quality <= 100; ++quality) {
    INFO(quality);
    CheckSame(MakePlanes({45, 37, 3, 2, 2, quality}, noise), quality);
    CheckSame(MakePlanes({300, 16, 3, 2, 2, quality}, noise), quality);  // thousands of words a row
    CheckSame(MakePlanes({45, 37, 3, 1, 1, quality}, extremes), quality);
    CheckSame(MakePlanes({64, 64, 3, 1, 1, quality}, waves), quality);
    CheckSame(MakePlanes({40, 40, 1, 1, 1, quality}, Photo), quality);
  }
}

TEST_CASE("flat planes become libjpeg's bytes, also black and white ones") {
  for (int value = 0; value < 256; value += 5) {
    const auto flat = [&](std::uint32_t, std::size_t, std::size_t) {
      return static_cast<std::uint8_t>(value);
    };
    for (const int quality : {1, 50, 100})
      CheckSame(MakePlanes({33, 17, 3, 2, 2, quality}, flat), quality);
  }
}

TEST_CASE("a restart interval is whole rows, or an equal part of a wide row") {
  CHECK(baseline::RestartInterval(500, 16) == 32);
  CHECK(baseline::RestartInterval(512, 16) == 16);
  CHECK(baseline::RestartInterval(512, 8) == 32);
  CHECK(baseline::RestartInterval(2000, 16) == 25);  // seven parts would not be equal
  CHECK(baseline::RestartInterval(2032, 16) == 127);
  CHECK(baseline::RestartInterval(4000, 16) == 25);
}

TEST_CASE("restart markers stand where libjpeg puts them") {
  for (const std::uint32_t interval : {1U, 2U, 3U, 5U, 7U, 10U, 34U, 35U, 36U, 65'535U}) {
    INFO(interval);
    CheckSame(MakePlanes({79, 111, 3, 2, 2, 90, interval}, Photo), 90);
    CheckSame(MakePlanes({39, 55, 1, 1, 1, 75, interval}, Photo), 75);
  }
}

TEST_CASE("a file is rewritten to the bytes of libjpeg's transcoding") {
  std::uint64_t seed = 1;
  for (const auto& [h, v] : kSamplings) {
    for (std::uint32_t size = 1; size <= 40; size += 3) {
      for (const std::uint32_t interval : {0U, 1U, 3U}) {
        const FileBytes file = MakeJpeg(MakePicture(size, 41 - size, 3, seed++),
                                        {.quality = 60 + static_cast<int>(size),
                                         .restart_interval = interval == 1 ? 2U : 0U,
                                         .luma_h = h,
                                         .luma_v = v,
                                         .optimise = size % 2 == 0});
        const FileBytes expected = RewriteByLibjpeg(file, interval);
        for (const kernels::Kernels* set : DecodingSets())
          CHECK((RewriteOurs(file, interval, *set) == expected));
      }
    }
  }
}

TEST_CASE("a reader of blocks refuses incomplete files, further bytes and progressive files") {
  const FileBytes file = MakeJpeg(MakePicture(64, 48), {.restart_rows = 1});
  const auto reads = [](const FileBytes& bytes) {
    baseline::BlockReader reader(kernels::Chosen());
    return reader.Begin(bytes) && reader.ReadLines([](const std::int16_t*) { return true; });
  };
  CHECK(reads(file));
  FileBytes shorter = file;
  shorter.erase(shorter.end() - 12, shorter.end() - 2);
  CHECK_FALSE(reads(shorter));
  FileBytes longer = file;  // bytes between the data and the end
  longer.insert(longer.end() - 2, {std::byte{0xFF}, std::byte{0xFE}, std::byte{0}, std::byte{2}});
  CHECK_FALSE(reads(longer));
  CHECK_FALSE(reads(MakeJpeg(MakePicture(64, 48), {.progressive = true})));
}

}  // namespace sluice::test
