// Affine maps, compared with torchvision on Pillow (affine_by_torchvision.py).
#include <cstdlib>

#include "format/pixels/steps/steps.h"
#include "reader/transform/frame.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

constexpr std::uint32_t kWidth = 19;
constexpr std::uint32_t kHeight = 14;

std::vector<std::uint8_t> MakeValues(std::uint32_t channels) {
  std::vector<std::uint8_t> values;
  for (std::uint32_t y = 0; y < kHeight; ++y)
    for (std::uint32_t x = 0; x < kWidth; ++x)
      for (std::uint32_t c = 0; c < channels; ++c)
        values.push_back(
            static_cast<std::uint8_t>((x * 37 + y * 59 + c * 83 + x * y * (c + 1)) % 256));
  return values;
}

struct Case {
  double degrees, shift_x, shift_y, scale, shear_x, shear_y;
  int fill;
  std::uint32_t channels;
  bool bilinear;
  std::vector<std::uint8_t> pixels;
};
const Case kCases[] = {
#include "tests/reader/affine_by_torchvision.inc"
};

}  // namespace

TEST_CASE("An affine map gives torchvision's pixels: nearest exactly and bilinear up to rounding") {
  for (const Case& expected : kCases) {
    CAPTURE(expected.degrees, expected.shift_x, expected.scale, expected.shear_x, expected.channels,
            expected.bilinear);
    std::vector<std::uint8_t> values = MakeValues(expected.channels);
    const Pixels in{values.data(), kWidth, kHeight, expected.channels};
    std::vector<std::uint8_t> out(values.size());
    const Pixels target{out.data(), kWidth, kHeight, expected.channels};
    const AffineMap map = AffineAbout(kWidth, kHeight,
                                      {expected.degrees, expected.shift_x, expected.shift_y,
                                       expected.scale, expected.shear_x, expected.shear_y});
    std::array<std::uint8_t, 3> fill{};
    fill.fill(static_cast<std::uint8_t>(expected.fill));
    if (expected.bilinear) {
      WarpBilinear(in, map.Inverse(), fill.data(), target);
    } else {
      WarpNearest(in, map.Inverse(), fill.data(), target);
    }
    REQUIRE(expected.pixels.size() == out.size());
    // With bilinear sampling, Pillow truncates and we round, so our value may be larger by 1.
    for (std::size_t i = 0; i < out.size(); ++i) {
      CAPTURE(i, int{out[i]}, int{expected.pixels[i]});
      const int difference = int{out[i]} - int{expected.pixels[i]};
      REQUIRE((difference == 0 || (expected.bilinear && difference == 1)));
    }
  }
}

TEST_CASE("An affine map's product applies both maps, and its inverse undoes it") {
  const AffineMap a = AffineAbout(
      30, 20,
      {.degrees = 33, .shift_x = 4, .shift_y = -2, .scale = 1.3, .shear_x = 12, .shear_y = -7});
  const AffineMap b = AffineAbout(
      30, 20,
      {.degrees = -80, .shift_x = 1, .shift_y = 6, .scale = 0.4, .shear_x = 0, .shear_y = 20});
  const AffineMap both = a * b;
  CHECK(both.X(3, 5) == Approx(a.X(b.X(3, 5), b.Y(3, 5))));
  CHECK(both.Y(3, 5) == Approx(a.Y(b.X(3, 5), b.Y(3, 5))));
  const AffineMap identity = a * a.Inverse();
  CHECK(identity.X(7, 11) == Approx(7));
  CHECK(identity.Y(7, 11) == Approx(11));
  // Only the shift moves the centre.
  CHECK(a.X(15, 10) == Approx(19));
  CHECK(a.Y(15, 10) == Approx(8));
}
