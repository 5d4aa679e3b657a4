// Recodes JPEGs to JPEGs by their coefficients. An expected coefficient is the multiple of the new
// step that is nearest to the old value, computed with integers. If recoding halves the size of
// chroma, the expected samples are means of decoded samples.
#include <algorithm>
#include <cmath>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/pack.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"
#include "tests/recoding.h"
#include "tests/sanitized.h"

namespace sluice::test {

namespace {

// Recodes with every set of kernels and in both orders of blocks; all must give the same file.
std::vector<std::byte> Recode(const std::vector<std::byte>& file, const baseline::Header& target) {
  std::vector<std::byte> made;
  for (const kernels::Kernels* set : DecodingSets()) {
    baseline::Recoder recoder(*set);
    INFO(set->name << (set->strands_pay ? ", by strands" : ""));
    const std::optional<std::vector<std::byte>> other = RecodeFile(recoder, *set, file, target);
    REQUIRE(other.has_value());
    if (made.empty()) made = *other;
    CHECK((made == *other));
    const std::optional<RecodedBlocks> blocks = RecodeBlocks(recoder, file, target);
    REQUIRE(blocks.has_value());
    const packed::Coefficients written = BlocksOf(made);
    for (std::uint32_t c = 0; c < target.components; ++c)
      CHECK((blocks->of[c] == written.blocks[c]));
  }
  return made;
}

struct Plane {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> samples;
  int At(std::uint32_t x, std::uint32_t y) const {
    return samples[std::size_t{std::min(y, height - 1)} * width + std::min(x, width - 1)];
  }
};

Plane ComponentOf(const std::vector<std::byte>& file, std::uint32_t width, std::uint32_t height,
                  std::uint32_t c) {
  baseline::Decoder decoder(kernels::Chosen());
  REQUIRE(decoder.Decode(file, width, height, Region::Whole(width, height)));
  const ColumnPlane& from = decoder.planes()[c];
  Plane plane{from.x.last, from.y.last, {}};
  for (std::uint32_t y = 0; y < plane.height; ++y) {
    for (std::uint32_t x = 0; x < plane.width; ++x)
      plane.samples.push_back(from.data[x * from.stride + y]);
  }
  return plane;
}

// Compares chroma of a recoding of quality 100 with the means of 2x2 samples of the file. They
// differ a little, because samples are rounded before and after adding, and coefficients once more.
void CheckMeans(const std::vector<std::byte>& file, const std::vector<std::byte>& made,
                std::uint32_t width, std::uint32_t height) {
  for (const std::uint32_t c : {1U, 2U}) {
    const Plane whole = ComponentOf(file, width, height, c);
    const Plane half = ComponentOf(made, width, height, c);
    REQUIRE(half.width == (width + 1) / 2);
    REQUIRE(half.height == (height + 1) / 2);
    double sum = 0, worst = 0;
    for (std::uint32_t y = 0; y < half.height; ++y) {
      for (std::uint32_t x = 0; x < half.width; ++x) {
        const double mean = (whole.At(2 * x, 2 * y) + whole.At(2 * x + 1, 2 * y) +
                             whole.At(2 * x, 2 * y + 1) + whole.At(2 * x + 1, 2 * y + 1)) /
                            4.0;
        const double difference = std::abs(half.At(x, y) - mean);
        sum += difference;
        worst = std::max(worst, difference);
      }
    }
    CHECK(worst <= 2);
    CHECK(sum <= 0.6 * half.width * half.height);
  }
}

// Makes a file claim that its picture is smaller: beyond the picture's edge, its last MCUs then do
// not repeat the samples of the edge, as an encoder's would.
void CutTo(std::uint32_t width, std::uint32_t height, std::vector<std::byte>& file) {
  const std::byte frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  const auto at = std::search(file.begin(), file.end(), std::begin(frame), std::end(frame));
  REQUIRE(at != file.end());
  at[5] = static_cast<std::byte>(height >> 8);
  at[6] = static_cast<std::byte>(height);
  at[7] = static_cast<std::byte>(width >> 8);
  at[8] = static_cast<std::byte>(width);
}

}  // namespace

TEST_CASE("components that keep their size get the nearest coefficients") {
  RandomStream random(11, static_cast<Purpose>(999), 0);
  for (int i = 0; i < 120; ++i) {
    const auto width = static_cast<std::uint32_t>(1 + random.Below(i < 100 ? 60 : 400));
    const auto height = static_cast<std::uint32_t>(1 + random.Below(i < 100 ? 60 : 300));
    const std::uint32_t channels = random.Below(5) == 0 ? 1 : 3;
    const int luma = random.Below(2) == 0 ? 2 : 1;
    JpegOptions options;
    options.quality = static_cast<int>(20 + random.Below(81));
    options.subsample = luma == 2;
    options.restart_rows = static_cast<int>(random.Below(3));
    options.optimise = random.Below(2) == 0;
    const std::vector<std::byte> file =
        MakeJpeg(MakePicture(width, height, channels, static_cast<std::uint64_t>(i)), options);
    const int quality = static_cast<int>(1 + random.Below(99));
    INFO(width << "x" << height << "x" << channels << (luma == 2 ? ", halved" : "") << ", quality "
               << options.quality << " to " << quality);
    const auto interval = static_cast<std::uint32_t>(random.Below(4));
    const std::vector<std::byte> made =
        Recode(file, HeaderFor({width, height, channels, luma, luma, quality, interval}));
    const packed::Coefficients from = BlocksOf(file);
    const packed::Coefficients to = BlocksOf(made);
    for (std::uint32_t c = 0; c < channels; ++c)
      CHECK(CountFarther(from, to, c) == 0);
  }
}

TEST_CASE("recoding at a file's own steps changes nothing") {
  const std::vector<std::byte> file =
      MakeJpeg(MakePicture(53, 38), {.quality = 88, .restart_interval = 4});
  CHECK((Recode(file, HeaderFor({53, 38, 3, 2, 2, 88, 4})) == file));
}

TEST_CASE("halved chroma becomes means, and luma gets the nearest coefficients") {
  for (std::uint32_t i = 0; i < 40; i += kSanitized ? 3 : 1) {
    const std::uint32_t width = i < 20 ? 1 + i : 10 * i + i % 3;
    const std::uint32_t height = i < 20 ? 1 + (i * 7) % 20 : 200 - i;
    for (const bool padded : {true, false}) {
      INFO(width << "x" << height << (padded ? "" : ", cut"));
      JpegOptions options{.quality = 93, .subsample = false};
      options.restart_rows = static_cast<int>(i % 3);
      std::vector<std::byte> file;
      if (padded) {
        file = MakeJpeg(MakePicture(width, height, 3, i), options);
      } else {
        file = MakeJpeg(MakePicture((width + 7) / 8 * 8, (height + 7) / 8 * 8, 3, i), options);
        CutTo(width, height, file);
      }
      const std::vector<std::byte> made = Recode(file, HeaderFor({width, height, 3, 2, 2, 100}));
      CHECK(CountFarther(BlocksOf(file), BlocksOf(made), 0) == 0);
      CheckMeans(file, made, width, height);
    }
  }
}

TEST_CASE("every frequency of halved chroma counts") {
  const baseline::Header source = HeaderFor({512, 16, 3, 1, 1, 100});
  const baseline::McuLine row(source);
  std::vector<std::int16_t> rows(row.values() * source.mcus_down);
  for (std::uint32_t x = 0; x < 64; ++x) {
    for (const std::uint32_t c : {1U, 2U}) {
      for (const std::uint32_t y : {0U, 1U}) {
        // One frequency of a block, too weak for any sample to be clamped.
        rows[y * row.values() + row.PlaceOf(c, x, 0) + x] = (c + y) % 2 == 0 ? 360 : -360;
      }
    }
  }
  const std::vector<std::byte> file = baseline::WriteFile(kernels::Chosen(), source, rows.data());
  CheckMeans(file, Recode(file, HeaderFor({512, 16, 3, 2, 2, 100})), 512, 16);
}

TEST_CASE("coefficients without a baseline code are never written") {
  RandomStream random(12, static_cast<Purpose>(999), 0);
  int taken = 0, refused = 0;
  constexpr long kOfSamples = 1151;  // the largest coefficient that 8-bit samples can have
  for (int i = 0; i < 450; ++i) {
    // By `wildness`: coefficients as an encoder makes them, some up to four times as strong as
    // kOfSamples, or any that a file can hold.
    const std::uint64_t most_of_few[] = {40, 330, 1023};
    const std::uint64_t most_step[] = {12, 12, 255};
    const int wildness = i % 3;
    baseline::Header source = HeaderFor({24, 16, 3, 2, 2, 50});
    for (auto& table : source.quant) {
      for (std::int16_t& step : table)
        step = static_cast<std::int16_t>(
            1 + random.Below(random.Below(8) == 0 ? most_step[wildness] : 12));
    }
    const baseline::McuLine row(source);
    std::vector<std::int16_t> blocks(row.values());
    baseline::FileWriter out(kernels::Chosen(), source);
    for (std::uint32_t y = 0; y < source.mcus_down; ++y) {
      for (std::int16_t& value : blocks) {
        const std::uint64_t most = random.Below(40) == 0 ? most_of_few[wildness] : 40;
        value = random.Below(3) != 0
                    ? std::int16_t{0}
                    : static_cast<std::int16_t>(std::int64_t(random.Below(2 * most + 1)) -
                                                std::int64_t(most));
      }
      row.FillEdges(y, blocks.data());
      out.Add(blocks.data());
    }
    const std::vector<std::byte> file = out.Finish();
    const baseline::Header target =
        HeaderFor({24, 16, 3, 2, 2, static_cast<int>(1 + random.Below(100))});
    const packed::Coefficients from = BlocksOf(file);
    bool fits = true;
    for (std::uint32_t c = 0; c < 3; ++c) {
      const std::size_t table = c == 0 ? 0 : 1;
      for (std::size_t k = 0; k < from.blocks[c].size(); ++k) {
        const long value = from.blocks[c][k];
        const long old = source.quant[table][k % 64];
        fits = fits && std::labs(value * old) <= kOfSamples &&
               std::labs(NearestSteps(value, old, target.quant[table][k % 64])) <= 1023;
      }
    }
    for (const kernels::Kernels* set : DecodingSets()) {
      baseline::Recoder recoder(*set);
      const std::optional<RecodedBlocks> made = RecodeBlocks(recoder, file, target);
      if (fits) CHECK(made.has_value());
      if (!made) continue;
      for (std::uint32_t c = 0; c < 3; ++c) {
        const std::size_t table = c == 0 ? 0 : 1;
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < from.blocks[c].size(); ++k) {
          const long nearest = NearestSteps(from.blocks[c][k], source.quant[table][k % 64],
                                            target.quant[table][k % 64]);
          if (made->of[c][k] != nearest || std::labs(nearest) > 1023) ++wrong;
        }
        CHECK(wrong == 0);
      }
    }
    fits ? ++taken : ++refused;
  }
  CHECK(taken > 20);
  CHECK(refused > 20);
}

TEST_CASE("a step of zero, which no encoder writes, gives zeros") {
  std::vector<std::byte> file = MakeJpeg(MakePicture(30, 20));
  const std::byte table[] = {std::byte{0xFF}, std::byte{0xDB}};
  const auto at = std::search(file.begin(), file.end(), std::begin(table), std::end(table));
  REQUIRE(at != file.end());
  at[5] = std::byte{0};  // the step of DC
  const packed::Coefficients made = BlocksOf(Recode(file, HeaderFor({30, 20})));
  for (std::size_t i = 0; i < made.blocks[0].size(); i += 64)
    CHECK(made.blocks[0][i] == 0);
}

TEST_CASE("files that cannot be recoded are refused") {
  const Picture picture = MakePicture(45, 33);
  for (const kernels::Kernels* set : DecodingSets()) {
    baseline::Recoder recoder(*set);
    const auto takes = [&](const std::vector<std::byte>& file, bool halved) {
      const int luma = halved ? 2 : 1;
      return RecodeFile(recoder, *set, file, HeaderFor({45, 33, 3, luma, luma, 90, 3})).has_value();
    };
    CHECK(takes(MakeJpeg(picture), true));
    CHECK_FALSE(takes(MakeJpeg(picture), false));  // chroma would have to be enlarged
    CHECK_FALSE(takes(MakeJpeg(picture, {.luma_h = 2, .luma_v = 1}), true));
    CHECK_FALSE(takes(MakeJpeg(picture, {.luma_h = 1, .luma_v = 2}), true));
    CHECK_FALSE(takes(MakeJpeg(picture, {.progressive = true}), true));
    CHECK_FALSE(takes(MakeJpeg(MakePicture(45, 33, 1)), true));
    CHECK_FALSE(takes(MakeJpeg(MakePicture(45, 34)), true));
    for (const bool subsample : {true, false}) {
      std::vector<std::byte> cut = MakeJpeg(picture, {.subsample = subsample, .restart_rows = 1});
      cut.resize(cut.size() * 3 / 4);
      CHECK_FALSE(takes(cut, true));
    }
    CHECK(
        takes(MakeJpeg(picture, {.subsample = false}), true));  // the recoder works after refusals
  }
}

}  // namespace sluice::test
