// The kernels of steps that change pixels: every set against closed formulas and against the other
// sets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "format/pixels/grey.h"
#include "format/pixels/kernels/kernels.h"
#include "format/random.h"
#include "tests/catch.h"

using namespace sluice;
using kernels::Kernels;

namespace {

constexpr std::size_t kCounts[] = {1, 2, 7, 31, 63, 64, 65, 128, 200, 1000};
constexpr std::size_t kGuard = 80;  // bytes after the part that a kernel may touch

std::vector<const Kernels*> AllSets() {
  const kernels::KernelList list = kernels::Available();
  return {list.sets, list.sets + list.count};
}

std::vector<std::uint8_t> RandomValues(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, static_cast<Purpose>(999), 1);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(random.Word());
  return bytes;
}

// (1 - factor) * a + factor * b in single precision, as in Pillow.
std::uint8_t Blended(std::uint8_t a, std::uint8_t b, float factor) {
  const float value = static_cast<float>(a) + factor * static_cast<float>(int{b} - int{a});
  return static_cast<std::uint8_t>(std::min(std::max(value, 0.0F), 255.0F));
}

// Runs `change(set, data, count)` on interleaved pixels with every set; each must give `expected`.
template <class Change, class Expected>
void CheckEverySet(Change change, Expected expected) {
  for (const std::size_t count : kCounts) {
    const std::vector<std::uint8_t> before = RandomValues(3 * count + kGuard, count);
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      std::vector<std::uint8_t> after = before;
      change(*set, after.data(), count);
      for (std::size_t i = 0; i < before.size(); ++i)
        REQUIRE(int{after[i]} == int{i < 3 * count ? expected(before, i) : before[i]});
    }
  }
}

// Like CheckEverySet(), for `change(set, planes, count)`. The kernels may write beyond the planes,
// but not beyond their slack.
template <class Change, class Expected>
void CheckPlanes(Change change, Expected expected) {
  constexpr std::size_t kRoom = kernels::kSlack + kGuard;
  for (const std::size_t count : kCounts) {
    const std::vector<std::uint8_t> before = RandomValues(3 * count, count);
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      std::vector<std::uint8_t> planes[3];
      for (std::size_t c = 0; c < 3; ++c) {
        planes[c].assign(count + kRoom, 77);
        for (std::size_t i = 0; i < count; ++i)
          planes[c][i] = before[3 * i + c];
      }
      change(*set, kernels::Planes{planes[0].data(), planes[1].data(), planes[2].data()}, count);
      for (std::size_t i = 0; i < 3 * count; ++i)
        REQUIRE(int{planes[i % 3][i / 3]} == int{expected(before, i)});
      for (const std::vector<std::uint8_t>& plane : planes)
        REQUIRE(std::count(plane.end() - kGuard, plane.end(), 77) == std::ptrdiff_t{kGuard});
    }
  }
}

// Scales and offsets that repeat for three channels.
struct Terms {
  float scales[kernels::kFloatRun], offsets[kernels::kFloatRun];
  Terms() {
    for (std::size_t i = 0; i < kernels::kFloatRun; ++i) {
      scales[i] = 0.0171F + 0.001F * float(i % 3);
      offsets[i] = -2.1F + 0.1F * float(i % 3);
    }
  }
};

}  // namespace

TEST_CASE("Blending kernels give Pillow's values in every set") {
  std::vector<float> factors = {0.0F, 0.3F, 0.8123F, 1.0F, 1.4142F, 1.7F, 1.9999F, 40.0F};
  RandomStream random(5, static_cast<Purpose>(999), 3);
  for (int i = 0; i < 60; ++i)
    factors.push_back(static_cast<float>(2 * random.Uniform()));
  for (const float factor : factors) {
    for (const std::uint8_t base : {std::uint8_t{0}, std::uint8_t{131}, std::uint8_t{255}}) {
      CheckEverySet(
          [&](const Kernels& set, std::uint8_t* data, std::size_t count) {
            set.blend_with(data, 3 * count, base, kernels::BlendFactorOf(factor));
          },
          [&](const std::vector<std::uint8_t>& before, std::size_t i) {
            return Blended(base, before[i], factor);
          });
    }
    const std::vector<std::uint8_t> from = RandomValues(3000, 77);
    CheckEverySet(
        [&](const Kernels& set, std::uint8_t* data, std::size_t count) {
          set.blend_lines(from.data(), data, 3 * count, kernels::BlendFactorOf(factor));
        },
        [&](const std::vector<std::uint8_t>& before, std::size_t i) {
          return Blended(from[i], before[i], factor);
        });
    CheckPlanes(
        [&](const Kernels& set, const kernels::Planes& planes, std::size_t count) {
          set.saturate(planes, count, kernels::BlendFactorOf(factor));
        },
        [&](const std::vector<std::uint8_t>& before, std::size_t i) {
          return Blended(GreyOf(&before[i / 3 * 3]), before[i], factor);
        });
  }
}

TEST_CASE(
    "Greys, inverted values, masked bits and looked-up values are right for each value in every "
    "set") {
  CheckPlanes([](const Kernels& set, const kernels::Planes& planes,
                 std::size_t count) { set.make_grey(planes, count); },
              [](const std::vector<std::uint8_t>& before, std::size_t i) {
                return GreyOf(&before[i / 3 * 3]);
              });
  const std::vector<std::uint8_t> table = RandomValues(256, 4711);
  CheckEverySet(
      [&](const Kernels& set, std::uint8_t* data, std::size_t count) {
        set.look_up(data, 3 * count, table.data());
      },
      [&](const std::vector<std::uint8_t>& before, std::size_t i) { return table[before[i]]; });
  for (const int least : {0, 1, 100, 128, 255}) {
    CheckEverySet(
        [&](const Kernels& set, std::uint8_t* data, std::size_t count) {
          set.invert_from(data, 3 * count, static_cast<std::uint8_t>(least));
        },
        [&](const std::vector<std::uint8_t>& before, std::size_t i) {
          return before[i] < least ? int{before[i]} : 255 - before[i];
        });
  }
  for (const int mask : {0x80, 0xF0, 0xFF}) {
    CheckEverySet(
        [&](const Kernels& set, std::uint8_t* data, std::size_t count) {
          set.mask_bits(data, 3 * count, static_cast<std::uint8_t>(mask));
        },
        [&](const std::vector<std::uint8_t>& before, std::size_t i) { return before[i] & mask; });
  }
}

TEST_CASE("Smoothed values are the rounded means of their neighbourhood in every set") {
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}}) {
    for (const std::size_t count : kCounts) {
      const std::size_t width = count + 2 * step;
      std::vector<std::uint8_t> lines = RandomValues(3 * width, count);
      // Includes the largest possible sum.
      for (std::size_t i = 0; i < 3 * width; i += width)
        std::fill_n(lines.begin() + static_cast<std::ptrdiff_t>(i), 2 * step + 1, 255);
      for (const Kernels* set : AllSets()) {
        CAPTURE(set->name, step, count);
        std::vector<std::uint8_t> out(count + kGuard, 99);
        set->smooth_line(lines.data(), &lines[width], &lines[2 * width], step, count, out.data());
        for (std::size_t i = 0; i < count; ++i) {
          int sum = 4 * lines[width + i + step];
          for (std::size_t y = 0; y < 3; ++y)
            for (std::size_t x = 0; x < 3; ++x)
              sum += lines[y * width + i + x * step];
          REQUIRE(int{out[i]} == static_cast<int>(std::floor(sum / 13.0 + 0.5)));
        }
        REQUIRE(std::count(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 99) ==
                std::ptrdiff_t{kGuard});
      }
    }
  }
}

TEST_CASE("The sum of greys is right in every set") {
  for (const std::size_t count : kCounts) {
    // Values beyond `count` must not matter.
    std::vector<std::uint8_t> r = RandomValues(count + kernels::kSlack, count), g = r, b = r;
    std::reverse(g.begin(), g.end());
    std::rotate(b.begin(), b.begin() + 1, b.end());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t pixel[] = {r[i], g[i], b[i]};
      sum += GreyOf(pixel);
    }
    for (const Kernels* set : AllSets())
      REQUIRE(set->sum_grey({r.data(), g.data(), b.data()}, count) == sum);
  }
}

TEST_CASE("Exactly the values of a line are read and changed, at every width, in every set") {
  const std::vector<std::uint8_t> table = RandomValues(256, 12);
  for (std::size_t count = 0; count <= 140; ++count) {
    // Vectors of this size, so that the address sanitizer sees a value that is read after its end.
    const std::vector<std::uint8_t> from = RandomValues(count, 900 + count);
    const std::vector<std::uint8_t> before = RandomValues(count, count);
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      const auto check = [&](const auto& change, const auto& expected) {
        std::vector<std::uint8_t> after = before;
        change(after.data());
        for (std::size_t i = 0; i < count; ++i)
          REQUIRE(int{after[i]} == int{expected(i)});
        after.resize(count + kGuard, 99);
        std::copy(before.begin(), before.end(), after.begin());
        change(after.data());
        REQUIRE(std::count(after.end() - std::ptrdiff_t{kGuard}, after.end(), 99) ==
                std::ptrdiff_t{kGuard});
      };
      for (const float factor : {0.7123F, 1.2345F, 2.5F}) {  // two have whole numbers
        const kernels::BlendFactor blend = kernels::BlendFactorOf(factor);
        REQUIRE(blend.blends == (factor < 2));
        for (const std::uint8_t base : {std::uint8_t{0}, std::uint8_t{99}}) {
          check([&](std::uint8_t* data) { set->blend_with(data, count, base, blend); },
                [&](std::size_t i) { return Blended(base, before[i], factor); });
        }
        check([&](std::uint8_t* data) { set->blend_lines(from.data(), data, count, blend); },
              [&](std::size_t i) { return Blended(from[i], before[i], factor); });
      }
      check([&](std::uint8_t* data) { set->look_up(data, count, table.data()); },
            [&](std::size_t i) { return table[before[i]]; });
    }
  }
}

TEST_CASE("Hues are turned alike in every set, by any turn and for any colour") {
  // Includes colours with two or three equal channels, and black.
  std::vector<std::uint8_t> colours = RandomValues(3 * 3000, 5);
  for (const int r : {0, 1, 128, 255})
    for (const int g : {0, 1, 128, 255})
      for (const int b : {0, 1, 128, 255})
        for (const int value : {r, g, b})
          colours.push_back(static_cast<std::uint8_t>(value));
  const std::size_t count = colours.size() / 3;
  // The bytes that every set must give.
  const auto changed = [&](const auto& change) {
    std::vector<std::uint8_t> first;
    for (const Kernels* set : AllSets()) {
      CAPTURE(set->name);
      std::vector<std::uint8_t> planes[3], after(colours.size());
      for (std::size_t i = 0; i < colours.size(); ++i)
        planes[i % 3].push_back(colours[i]);
      for (std::vector<std::uint8_t>& plane : planes)
        plane.resize(count + kernels::kSlack);
      change(*set, kernels::Planes{planes[0].data(), planes[1].data(), planes[2].data()});
      for (std::size_t i = 0; i < colours.size(); ++i)
        after[i] = planes[i % 3][i / 3];
      if (first.empty()) first = after;
      REQUIRE(after == first);
    }
    return first;
  };
  for (const float sixths : {-3.0F, -2.9999F, -1.3F, -1.0F, 0.0F, 0.01F, 1.0F, 2.0F, 3.0F}) {
    CAPTURE(sixths);
    const std::vector<std::uint8_t> first =
        changed([&](const Kernels& set, const kernels::Planes& planes) {
          set.turn_hues(planes, count, sixths);
        });
    for (std::size_t i = 0; i < colours.size(); i += 3) {
      // The largest and the smallest channel must keep their values.
      const auto [low, high] = std::minmax({colours[i], colours[i + 1], colours[i + 2]});
      const auto [new_low, new_high] = std::minmax({first[i], first[i + 1], first[i + 2]});
      REQUIRE((int{new_high} == int{high} && int{new_low} == int{low}));
    }
    if (sixths == 0) CHECK(first == colours);
    for (const float saturation : {0.0F, 0.3F, 0.9371F, 1.0F, 1.7F, 2.0F, 1e6F}) {
      for (const float value : {0.0F, 0.61F, 1.0F, 1.4F, 2.0F, 300.0F}) {
        CAPTURE(saturation, value);
        const auto same = changed([&](const Kernels& set, const kernels::Planes& planes) {
          set.change_hsv(planes, count, {sixths, saturation, value});
        });
        // Halves are rounded the other way.
        if (saturation != 1 || value != 1) continue;
        for (std::size_t i = 0; i < first.size(); ++i)
          REQUIRE(std::abs(same[i] - first[i]) <= 1);
      }
    }
  }
}

TEST_CASE("Weighted sums of a blur are exact in every set") {
  for (const std::uint32_t taps : {3U, 5U, 9U, 23U}) {
    for (const bool at_ends : {false, true}) {  // the largest weights
      std::vector<std::uint32_t> weights(taps, at_ends ? 0 : 65536 / taps);
      if (at_ends) weights.front() = weights.back() = 32768;
      weights[taps / 2] = 65536 - (at_ends ? 65536 : 65536 / taps * (taps - 1));
      std::vector<std::int16_t> pairs;
      for (std::uint32_t t = 0; t <= taps / 2; ++t)
        pairs.push_back(
            static_cast<std::int16_t>(-int(t < taps / 2 ? weights[t] : weights[t] / 2)));
      if (pairs.size() % 2 == 1) pairs.push_back(0);
      const auto job = [&](const std::int16_t* values, std::size_t step) {
        return kernels::BlurSum{values, step, taps, pairs.data(), std::uint32_t(pairs.size())};
      };
      for (const std::size_t count : kCounts) {
        std::vector<std::uint8_t> values = RandomValues(taps * count, 100 * taps);
        std::fill_n(values.begin(), count, 255);
        std::vector<std::int16_t> rows(taps * count + kernels::kSlack);
        std::vector<std::int16_t> wide(count + 3 * taps + kernels::kSlack, 16320);
        for (const Kernels* set : AllSets()) {
          CAPTURE(taps, at_ends, count, set->name);
          set->widen(values.data(), values.size(), rows.data());
          std::vector<std::int16_t> sums(count + kernels::kSlack, 7);
          set->blur_columns(job(rows.data(), count), count, sums.data());
          for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t sum = 512;
            for (std::uint32_t t = 0; t < taps; ++t)
              sum += std::uint64_t{values[t * count + i]} * weights[t];
            REQUIRE(std::uint64_t(sums[i]) == sum >> 10);
            wide[i + 3] = sums[i];
          }
          CHECK(std::count(sums.begin() + std::ptrdiff_t(count) + 16, sums.end(), 7) ==
                std::ptrdiff_t{kernels::kSlack - 16});
          std::vector<std::uint8_t> out(count + 1, 9);
          set->blur_line(job(wide.data(), 3), count, out.data());
          for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t sum = std::uint64_t{1} << 21;
            for (std::uint32_t t = 0; t < taps; ++t)
              sum += std::uint64_t(wide[i + 3 * t]) * weights[t];
            REQUIRE(out[i] == sum >> 22);
          }
          CHECK(out[count] == 9);
        }
      }
    }
  }
}

TEST_CASE("Places of a projected line are those of double precision, alike in every set") {
  RandomStream random(9, static_cast<Purpose>(999), 1);
  for (std::size_t count = 1; count <= 70; ++count) {
    kernels::ProjectedLine line;
    line.x = random.Uniform() * 90 - 20;
    line.y = random.Uniform() * 60 - 10;
    line.w = 0.5 + random.Uniform();
    line.x_step = random.Uniform() * 2 - 0.5;
    line.y_step = random.Uniform() - 0.5;
    line.w_step = count % 9 == 0 ? -0.05 : (random.Uniform() - 0.5) * 0.01;  // a horizon at times
    line.origin = count % 2 == 0 ? 0.5 : 0;
    line.x_most = 98.5;
    line.y_most = 39.25;
    line.stride = 300;
    line.pixel = 3;
    const auto first = static_cast<std::uint32_t>(random.Below(300));
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      std::vector<std::uint32_t> offsets(count + 1, 7), shares(count + 1, 7);
      set->find_projected(line, first, count, offsets.data(), shares.data());
      CHECK((offsets[count] == 7 && shares[count] == 7));
      for (std::size_t i = 0; i < count; ++i) {
        const auto column = static_cast<double>(first + i);
        const auto place = [&](double from, double step, double most) {
          const double at = (from + column * step) / (line.w + column * line.w_step) - line.origin;
          return static_cast<std::uint32_t>(std::floor(std::clamp(at, 0.0, most) * 32768));
        };
        const std::uint32_t x = place(line.x, line.x_step, line.x_most);
        const std::uint32_t y = place(line.y, line.y_step, line.y_most);
        REQUIRE(offsets[i] == y / 32768 * 300 + x / 32768 * 3);
        REQUIRE(shares[i] == (x % 32768 | y % 32768 << 16));
      }
    }
  }
}

TEST_CASE("Four pixels around a place are mixed by their shares, alike in every set") {
  const std::size_t channels = GENERATE(1, 3);
  constexpr std::size_t kStride = 301;
  const std::vector<std::uint8_t> in = RandomValues(kStride * 40, 3);
  RandomStream random(8, static_cast<Purpose>(999), 1);
  for (std::size_t count = 1; count <= 70; ++count) {
    // Two in three places are arbitrary; the others have shares at their ends.
    kernels::PlaceLine line{random.Below(50) << 32,
                            random.Below(20) << 32,
                            random.Below(std::uint64_t{1} << 31),
                            random.Below(std::uint64_t{1} << 30),
                            kStride,
                            static_cast<std::uint32_t>(channels)};
    if (count % 3 == 0) line.x_step = 0x7FFE0000, line.y_step = count % 2 * 0x1FFFF;
    std::vector<std::uint8_t> first;
    for (const Kernels* set : AllSets()) {
      CAPTURE(channels, count, set->name);
      std::vector<std::uint32_t> offsets(count + 8, 7), shares(count + 8, 7);
      set->find_places(line, count, offsets.data(), shares.data());
      CHECK((offsets[count + 7] == 7 && shares[count + 7] == 7));
      std::vector<std::uint8_t> out(channels * count + kGuard, 99);
      (channels == 3 ? set->mix_rgb : set->mix_grey)(in.data(), kStride, offsets.data(),
                                                     shares.data(), count, out.data());
      for (std::size_t i = 0; i < count; ++i) {
        const double x = std::ldexp(double(line.x + i * line.x_step), -32);
        const double y = std::ldexp(double(line.y + i * line.y_step), -32);
        const auto left = static_cast<std::size_t>(x), top = static_cast<std::size_t>(y);
        const double a = x - double(left), b = y - double(top);
        for (std::size_t c = 0; c < channels; ++c) {
          const std::uint8_t* const at = &in[top * kStride + channels * left + c];
          const double exact = (1 - b) * ((1 - a) * at[0] + a * at[channels]) +
                               b * ((1 - a) * at[kStride] + a * at[kStride + channels]);
          REQUIRE(std::abs(out[channels * i + c] - exact) < 0.52);
        }
      }
      REQUIRE(std::count(out.begin() + std::ptrdiff_t(channels * count), out.end(), 99) ==
              std::ptrdiff_t{kGuard});
      if (first.empty()) first = out;
      REQUIRE(out == first);
    }
  }
}

TEST_CASE("Values are stretched in whole numbers, alike in every set") {
  for (std::size_t count = 0; count <= 140; ++count) {
    const auto low = static_cast<std::uint8_t>(count * 7);
    const auto fraction = static_cast<std::uint16_t>(65535 - 467 * count);
    const std::vector<std::uint8_t> before = RandomValues(count + kGuard, count);
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      std::vector<std::uint8_t> after = before;
      set->stretch(after.data(), count, low, fraction);
      for (std::size_t i = 0; i < count; ++i) {
        const double above = std::max(before[i] - low, 0);
        REQUIRE(after[i] == std::min(std::floor(above * (1 + fraction / 65536.0)), 255.0));
      }
      REQUIRE(std::equal(after.begin() + std::ptrdiff_t(count), after.end(),
                         before.begin() + std::ptrdiff_t(count)));
    }
  }
}

TEST_CASE("Noise is the words of a random stream, alike in every set") {
  const std::uint64_t key = 0x123456789ABCDEF0;
  for (std::size_t blocks = 0; blocks <= 70; ++blocks) {
    const Words4 counter = {0xFFFFFFF0, 7, 8, 9};  // wraps around
    for (const Kernels* set : AllSets()) {
      CAPTURE(blocks, set->name);
      std::vector<std::uint8_t> out(4 * blocks + kGuard, 99);
      set->make_noise(key, counter.data(), blocks, out.data());
      for (std::size_t i = 0; i < 4 * blocks; ++i) {
        Words4 at = counter;
        at[0] += static_cast<std::uint32_t>(i / 4);
        REQUIRE(out[i] == Philox(key, at)[i % 4] >> 24);
      }
      REQUIRE(std::count(out.end() - std::ptrdiff_t{kGuard}, out.end(), 99) ==
              std::ptrdiff_t{kGuard});
    }
  }
}

namespace {

// Rounds a number by the definition of 16-bit formats, in double precision: to `bits` bits, with a
// last place of at least 2^least, and ties to even.
double NearestOf(double number, int bits, int least) {
  if (number == 0) return number;
  const int place = std::max(std::ilogb(number) - (bits - 1), least);
  return std::ldexp(std::nearbyint(std::ldexp(number, -place)), place);
}

// The number that 16 bits stand for in a format with that many exponent bits.
double NumberOf(std::uint16_t half, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = half >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = half & ((1 << mantissa_bits) - 1);
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// Floats of all magnitudes, and the values at which the format's rounding changes, with their
// neighbours.
std::vector<float> OddFloats() {
  std::vector<float> floats = {0.0F,     -0.0F,    1.0F,     65504.0F,   65519.996F,   65520.0F,
                               0x1p-14F, 0x1p-24F, 0x1p-25F, 0x1.8p-24F, 3.3895314e38F};
  RandomStream random(3, static_cast<Purpose>(999), 1);
  for (int i = 0; i < 20'000; ++i) {
    const auto exponent = static_cast<int>(random.Below(60)) - 35;
    const auto mantissa = static_cast<float>(1024 + random.Below(2048));
    floats.push_back(std::ldexp(mantissa, exponent - 11));  // halfway between binary16 numbers
    floats.push_back(std::ldexp(static_cast<float>(random.Uniform()), exponent));
  }
  for (std::size_t i = 0; i < 10'000; ++i) {
    floats.push_back(std::nextafter(floats[i], 0.0F));
    floats.push_back(-std::nextafter(floats[i], 1e30F));
  }
  floats.resize(floats.size() / kernels::kFloatRun * kernels::kFloatRun);
  return floats;
}

}  // namespace

TEST_CASE("Numbers become the nearest 16-bit numbers, with ties to even, in every set") {
  const std::vector<float> floats = OddFloats();
  const std::vector<float> scales(kernels::kFloatRun, 1.0F);
  const std::vector<std::uint8_t> zeros(kernels::kFloatRun, 0);  // 0 x 1 + the number
  std::vector<std::uint16_t> halves(kernels::kFloatRun), bfloats(kernels::kFloatRun);
  for (const Kernels* set : AllSets()) {
    CAPTURE(set->name);
    for (std::size_t begin = 0; begin < floats.size(); begin += kernels::kFloatRun) {
      const float* const numbers = floats.data() + begin;
      set->to_halves(zeros.data(), halves.size(), scales.data(), numbers, halves.data());
      set->to_bfloats(zeros.data(), bfloats.size(), scales.data(), numbers, bfloats.data());
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const double half = NearestOf(numbers[i], 11, -24);
        const double made = NumberOf(halves[i], 5);
        const bool same =
            std::abs(half) >= 65536 ? std::isinf(made) && (made < 0) == (half < 0) : made == half;
        if (!same) FAIL(numbers[i] << " became " << made << ", not " << half);
        const double bfloat = NumberOf(bfloats[i], 8);
        if (bfloat != NearestOf(numbers[i], 8, -133)) FAIL(numbers[i] << " became " << bfloat);
      }
    }
  }
}

TEST_CASE("16-bit numbers are value times scale plus offset, for any count, in every set") {
  const Terms terms;
  for (const std::size_t count : kCounts) {
    const std::vector<std::uint8_t> values = RandomValues(count, count);
    for (const Kernels* set : AllSets()) {
      CAPTURE(count, set->name);
      std::vector<std::uint16_t> halves(count + 1, 77), bfloats(count + 1, 77);
      set->to_halves(values.data(), count, terms.scales, terms.offsets, halves.data());
      set->to_bfloats(values.data(), count, terms.scales, terms.offsets, bfloats.data());
      for (std::size_t i = 0; i < count; ++i) {
        const volatile float product = float(values[i]) * terms.scales[i % 3];  // rounded by itself
        const float number = product + terms.offsets[i % 3];
        REQUIRE(NumberOf(halves[i], 5) == NearestOf(number, 11, -24));
        REQUIRE(NumberOf(bfloats[i], 8) == NearestOf(number, 8, -133));
      }
      CHECK((halves[count] == 77 && bfloats[count] == 77));
    }
  }
}

TEST_CASE("Numbers are value times scale plus offset, rounded twice, in every set") {
  const Terms terms;
  for (const std::size_t count : kCounts) {
    const std::vector<std::uint8_t> values = RandomValues(count, count);
    for (const Kernels* set : AllSets()) {
      std::vector<float> out(count + 1, 3);
      set->to_floats(values.data(), count, terms.scales, terms.offsets, out.data());
      for (std::size_t i = 0; i < count; ++i) {
        const volatile float product = float(values[i]) * terms.scales[i % 3];  // rounded by itself
        REQUIRE(out[i] == product + terms.offsets[i % 3]);
      }
      CHECK(out[count] == 3);
    }
  }
}
