// Filling what no picture covers.
#include "format/pixels/lines.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/catch.h"

using namespace sluice;

namespace {

bool Covers(const PixelRect& one, std::uint32_t x, std::uint32_t y) {
  return x >= one.left && x < one.right && y >= one.top && y < one.bottom;
}

}  // namespace

TEST_CASE("What no rectangle covers gets the value, and nothing else changes") {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(random() % (most + 1));
  };
  constexpr std::array<std::uint8_t, 3> kGrey = {114, 114, 114}, kColours = {9, 114, 200};
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t width = 1 + below(40), height = 1 + below(20);
    const std::uint32_t channels = round % 3 == 0 ? 1 : 3;
    const auto& value = round % 2 == 0 ? kGrey : kColours;
    std::vector<PixelRect> rectangles(below(4));  // also empty ones, and ones that overlap
    for (PixelRect& one : rectangles) {
      one.left = below(width), one.top = below(height);
      one.right = one.left + below(width - one.left);
      one.bottom = one.top + below(height - one.top);
    }
    constexpr std::uint8_t kBefore = 1;
    std::vector<std::uint8_t> picture(std::size_t{width} * height * channels, kBefore);
    FillOutside(rectangles, {picture.data(), width, height, channels}, value.data());
    bool right = true;
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        const bool covered = std::ranges::any_of(
            rectangles, [&](const PixelRect& one) { return Covers(one, x, y); });
        for (std::uint32_t c = 0; c < channels; ++c)
          right &= picture[(std::size_t{y} * width + x) * channels + c] ==
                   (covered ? kBefore : value[c]);
      }
    }
    CAPTURE(round, width, height, channels);
    REQUIRE(right);
  }
}
