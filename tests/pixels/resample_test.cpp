// Resampling planes with the triangle filter, against its definition.
#include "format/pixels/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.h"
#include "tests/pictures.h"

using namespace sluice;
using test::MakePicture;
using test::Picture;

namespace {

// The filter by its definition, in double precision and without shortcuts: for each output pixel
// and axis, a triangle over all source pixels.
std::vector<double> TriangleWeights(double start, double length, std::uint32_t out, std::uint32_t i,
                                    std::uint32_t size) {
  const double scale = length / out;
  const double reach = scale > 1 ? scale : 1;
  const double centre = start + (i + 0.5) * scale;
  std::vector<double> weights(size);
  double sum = 0;
  for (std::uint32_t s = 0; s < size; ++s) {
    const double distance = std::fabs(s + 0.5 - centre);
    weights[s] = distance < reach ? 1 - distance / reach : 0;
    sum += weights[s];
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

double Reference(const Picture& picture, const std::vector<double>& wx,
                 const std::vector<double>& wy, std::uint32_t channel) {
  double sum = 0;
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    if (wy[y] == 0) continue;
    double row = 0;
    for (std::uint32_t x = 0; x < picture.width; ++x)
      row += wx[x] * picture.at(x, y)[channel];
    sum += wy[y] * row;
  }
  return sum;
}

double LargestError(const Picture& picture, const Axis& x, const Axis& y) {
  std::vector<std::uint8_t> out(std::size_t{x.out} * y.out * picture.channels);
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  Resampler resampler;
  resampler.Resample(
      {picture.pixels.data(), stride, picture.width, picture.height, picture.channels}, x, y,
      {out.data(), std::size_t{x.out} * picture.channels});
  double worst = 0;
  for (std::uint32_t j = 0; j < y.out; ++j) {
    const auto wy = TriangleWeights(y.start, y.length, y.out, j, picture.height);
    for (std::uint32_t i = 0; i < x.out; ++i) {
      const std::uint32_t from = x.mirrored ? x.out - 1 - i : i;
      const auto wx = TriangleWeights(x.start, x.length, x.out, from, picture.width);
      for (std::uint32_t c = 0; c < picture.channels; ++c) {
        const double exact = Reference(picture, wx, wy, c);
        worst = std::max(
            worst, std::fabs(exact - out[(std::size_t{j} * x.out + i) * picture.channels + c]));
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("Resampling agrees with the triangle filter in double precision to within a rounding") {
  for (const std::uint32_t channels : {1U, 2U, 3U, 4U}) {
    const Picture picture = MakePicture(61, 47, channels, channels);
    // Half a step for the last rounding, plus the error of two passes with 14-bit weights and six
    // bits of fraction.
    const double tolerance = 0.56;
    CHECK(LargestError(picture, {0, 61, 20, false}, {0, 47, 13, false}) < tolerance);
    CHECK(LargestError(picture, {0, 61, 61, false}, {0, 47, 47, false}) == 0);
    CHECK(LargestError(picture, {0, 61, 100, false}, {0, 47, 90, false}) < tolerance);
    CHECK(LargestError(picture, {10.25, 33.5, 24, true}, {3.75, 40.2, 31, false}) < tolerance);
    CHECK(LargestError(picture, {0, 61, 1, false}, {0, 47, 1, false}) < tolerance);
  }
}

TEST_CASE("A constant image stays exactly the same, at any scale") {
  for (const int value : {0, 1, 127, 254, 255}) {
    Picture picture{50, 40, 3,
                    std::vector<std::uint8_t>(50 * 40 * 3, static_cast<std::uint8_t>(value))};
    for (const std::uint32_t size : {1U, 3U, 17U, 39U, 64U, 200U}) {
      std::vector<std::uint8_t> out(std::size_t{size} * size * 3, 99);
      Resampler resampler;
      resampler.Resample({picture.pixels.data(), 150, 50, 40, 3}, {0, 50, size, false},
                         {0, 40, size, false}, {out.data(), std::size_t{size} * 3});
      REQUIRE(std::all_of(out.begin(), out.end(), [&](int v) { return v == value; }));
    }
  }
}

TEST_CASE("The range of source pixels contains every pixel with a weight") {
  for (const Axis axis :
       {Axis{0, 500, 224, false}, Axis{13.5, 100.25, 224, false}, Axis{250, 250, 17, false}}) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    SourceRange(axis, 500, first, last);
    for (const std::uint32_t i : {0U, axis.out - 1}) {
      const auto weights = TriangleWeights(axis.start, axis.length, axis.out, i, 500);
      for (std::uint32_t s = 0; s < 500; ++s) {
        if (weights[s] > 0) REQUIRE((s >= first && s < last));
      }
    }
  }
}
