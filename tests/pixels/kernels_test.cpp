// Every set's kernels, compared with exact arithmetic and with those of the other sets.
#include "format/pixels/kernels/kernels.h"

#include <cmath>
#include <vector>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;
using kernels::Kernels;
using sluice::test::Sets;

namespace {

std::vector<std::uint8_t> RandomBytes(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, static_cast<Purpose>(999), 0);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(random.Word());
  return bytes;
}

}  // namespace

TEST_CASE("The plain kernels always exist, and the chosen set is one of those available") {
  const std::vector<const Kernels*> sets = Sets();
  CHECK(std::string(sets[0]->name) == "plain");
  CHECK(std::find(sets.begin(), sets.end(), &kernels::Chosen()) != sets.end());
}

TEST_CASE("The last set is NEON's on 64-bit Arm, and the one with the widest vectors on x86") {
#if defined(__aarch64__)
  const std::string expected = "neon";
#elif defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512vbmi2");
  const std::string expected = has_avx512 ? "avx512" : has_avx2 ? "avx2" : "plain";
#else
  const std::string expected = "plain";
#endif
  CHECK(Sets().back()->name == expected);
}

TEST_CASE("Weighted sums of lines are those of exact arithmetic to within their rounding") {
  constexpr std::size_t kCount = 100;
  constexpr std::size_t kStride = 192;
  for (const std::uint32_t taps : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 12U, 33U, 513U, 6000U}) {
    const auto lines = RandomBytes(kStride * taps + kernels::kSlack, taps);
    std::vector<std::uint16_t> weights(taps, static_cast<std::uint16_t>(65535 / taps));
    std::vector<std::uint8_t> first;
    for (const Kernels* set : Sets()) {
      std::vector<std::uint8_t> out(kCount + kernels::kSlack);
      set->sum_lines({lines.data(), kStride, weights.data(), taps}, kCount, out.data());
      out.resize(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        double exact = 0;
        for (std::uint32_t t = 0; t < taps; ++t)
          exact += lines[t * kStride + i] * weights[t] / 65536.0;
        // Half a step for the last rounding. With few taps, each product is truncated to 1/256, and
        // the bias makes up for half of that.
        const double truncated = taps > kernels::kManyTaps ? 0 : taps / 512.0;
        REQUIRE(std::fabs(out[i] - exact) <= 0.5 + truncated + 1e-9);
      }
      if (first.empty()) first = out;
      REQUIRE(out == first);
    }
  }
}

TEST_CASE("Sums of lines are the same in every set, for any weights, also where they saturate") {
  constexpr std::size_t kCount = 70;
  constexpr std::size_t kStride = 96;
  for (const std::uint32_t taps : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 253U, 254U, 255U, 256U, 300U}) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      auto lines = RandomBytes(kStride * taps + kernels::kSlack, taps * 100 + round);
      if (round == 0) std::fill(lines.begin(), lines.end(), std::uint8_t{255});
      // First equal shares of the largest sum that weights may have, then random ones.
      std::vector<std::uint16_t> weights(
          taps, static_cast<std::uint16_t>(std::min<std::uint32_t>(65536 / taps, 65535)));
      const auto random = RandomBytes(2 * std::size_t{taps}, round);
      std::uint32_t rest = 65536;
      for (std::uint32_t t = 0; round > 1 && t < taps; ++t) {
        weights[t] = static_cast<std::uint16_t>((random[2 * t] << 8 | random[2 * t + 1]) % rest);
        rest -= weights[t];
      }
      // With their bias, these sums reach 65536, which does not fit 16 bits: they must saturate.
      if (round == 0 && taps >= 256) {
        std::fill(weights.begin(), weights.begin() + 256, std::uint16_t{256});
        std::fill(weights.begin() + 256, weights.end(), std::uint16_t{0});
      }
      std::vector<std::uint8_t> first;
      for (const Kernels* set : Sets()) {
        std::vector<std::uint8_t> out(kCount + kernels::kSlack);
        set->sum_lines({lines.data(), kStride, weights.data(), taps}, kCount, out.data());
        out.resize(kCount);
        if (first.empty()) first = out;
        INFO(set->name << " " << taps << " taps, round " << round);
        REQUIRE(out == first);
        if (round == 0 && taps >= 256) REQUIRE(out[0] == 255);
      }
    }
  }
}

TEST_CASE("A single full weight leaves samples as they are") {
  const auto line = RandomBytes(256 + kernels::kSlack, 5);
  const std::uint16_t weight = 65535;
  for (const Kernels* set : Sets()) {
    std::vector<std::uint8_t> out(256 + kernels::kSlack);
    set->sum_lines({line.data(), 0, &weight, 1}, 256, out.data());
    REQUIRE(std::equal(out.begin(), out.begin() + 256, line.begin()));
  }
}

TEST_CASE("Transposition moves every sample to its place") {
  constexpr std::size_t kColumns = 50;
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kIn = 64;
  constexpr std::size_t kOut = 96;
  const auto in = RandomBytes(kIn * 64, 6);
  for (const Kernels* set : Sets()) {
    std::vector<std::uint8_t> out(kOut * 64);
    set->transpose(in.data(), kIn, kColumns, kRows, out.data(), kOut);
    for (std::size_t x = 0; x < kColumns; ++x) {
      for (std::size_t y = 0; y < kRows; ++y)
        REQUIRE(out[y * kOut + x] == in[x * kIn + y]);
    }
  }
}

TEST_CASE("Colours are JFIF's, rounded to the nearest") {
  constexpr std::size_t kCount = 4000;
  const auto y = RandomBytes(kCount + kernels::kSlack, 1);
  const auto cb = RandomBytes(kCount + kernels::kSlack, 2);
  const auto cr = RandomBytes(kCount + kernels::kSlack, 3);
  const auto expect = [](double value, std::uint8_t got) {
    const double clamped = std::min(255.0, std::max(0.0, value));
    // The constants have 16 bits. In addition to the half step of rounding, each product may be off
    // by 128 times 2^-17, and green has two products.
    return std::fabs(clamped - got) <= 0.5 + 0.003;
  };
  for (const Kernels* set : Sets()) {
    std::vector<std::uint8_t> rgb(3 * kCount);
    constexpr std::size_t kStride = kCount + kernels::kSlack;
    std::vector<std::uint8_t> planes(3 * kStride);
    set->to_rgb(y.data(), cb.data(), cr.data(), kCount, rgb.data());
    set->to_planes(y.data(), cb.data(), cr.data(), kCount, planes.data(), kStride);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double b = cb[i] - 128.0;
      const double r = cr[i] - 128.0;
      REQUIRE(expect(y[i] + 1.402 * r, rgb[3 * i]));
      REQUIRE(expect(y[i] - 0.344136 * b - 0.714136 * r, rgb[3 * i + 1]));
      REQUIRE(expect(y[i] + 1.772 * b, rgb[3 * i + 2]));
      for (std::size_t c = 0; c < 3; ++c)
        REQUIRE(planes[c * kStride + i] == rgb[3 * i + c]);
    }
  }
}

TEST_CASE("Every set gives the same colours for each possible value of Cb and Cr") {
  std::vector<std::uint8_t> y(256 + kernels::kSlack);
  std::vector<std::uint8_t> cb(y.size());
  std::vector<std::uint8_t> cr(y.size());
  for (std::size_t i = 0; i < 256; ++i)
    cb[i] = static_cast<std::uint8_t>(i);
  for (const int luma : {0, 1, 100, 128, 254, 255}) {
    std::fill(y.begin(), y.end(), static_cast<std::uint8_t>(luma));
    for (int red = 0; red < 256; ++red) {
      std::fill(cr.begin(), cr.end(), static_cast<std::uint8_t>(red));
      std::vector<std::uint8_t> first;
      for (const Kernels* set : Sets()) {
        std::vector<std::uint8_t> rgb(3 * 256);
        set->to_rgb(y.data(), cb.data(), cr.data(), 256, rgb.data());
        if (first.empty()) first = rgb;
        if (rgb != first) FAIL(set->name << " at luma " << luma << ", cr " << red);
      }
    }
  }
}

TEST_CASE("Colours are written only inside their line, whatever its length") {
  const auto y = RandomBytes(200, 1);
  for (const Kernels* set : Sets()) {
    for (std::size_t count = 1; count < 70; ++count) {
      std::vector<std::uint8_t> rgb(3 * count + 16, 0xAB);
      set->to_rgb(y.data(), y.data(), y.data(), count, rgb.data());
      for (std::size_t i = 3 * count; i < rgb.size(); ++i)
        REQUIRE(rgb[i] == 0xAB);
    }
  }
}

TEST_CASE("Interleaved pixels are split, joined and mirrored to the byte") {
  for (const std::size_t count : {1U, 2U, 5U, 6U, 15U, 16U, 31U, 32U, 33U, 64U, 100U, 224U}) {
    const std::vector<std::uint8_t> rgb = RandomBytes(3 * count, 40 + count);  // exact size
    for (const Kernels* set : Sets()) {
      std::vector<std::uint8_t> lines[3];
      for (auto& line : lines)
        line.resize(count + kernels::kSlack);
      set->split_rgb(rgb.data(), count, lines[0].data(), lines[1].data(), lines[2].data());
      for (std::size_t i = 0; i < 3 * count; ++i)
        REQUIRE(lines[i % 3][i / 3] == rgb[i]);
      std::vector<std::uint8_t> joined(3 * count);
      set->join_rgb(lines[0].data(), lines[1].data(), lines[2].data(), count, joined.data());
      REQUIRE(joined == rgb);
      std::vector<std::uint8_t> mirrored(3 * count);
      set->mirror_rgb(rgb.data(), count, mirrored.data());
      for (std::size_t i = 0; i < 3 * count; ++i)
        REQUIRE(mirrored[i] == rgb[3 * (count - 1 - i / 3) + i % 3]);
    }
  }
}
