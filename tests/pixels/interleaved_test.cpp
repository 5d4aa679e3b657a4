// Resampling raw pixels: the filters' definitions, layouts, and the same bytes from every set of
// kernels.
#include "format/pixels/interleaved.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.h"
#include "tests/pictures.h"

using namespace sluice;
using test::MakePicture;
using test::Picture;

namespace {

// Computes the weight of each of `size` samples in output `i` of a span, from the filters'
// definitions, in double precision.
std::vector<double> WeightsByDefinition(const Span& span, Filter filter, std::uint32_t i,
                                        std::uint32_t size) {
  const double scale = span.length / span.out;
  const double low = span.start + i * scale;
  const double centre = low + scale / 2;
  std::vector<double> weights(size);
  double sum = 0;
  for (std::uint32_t s = span.bound; s < span.bound + span.bound_length; ++s) {
    if (filter == Filter::kArea && scale > 1) {  // the overlap of two intervals
      weights[s] = std::max(0.0, std::min(low + scale, s + 1.0) - std::max(low, double(s)));
    } else {
      weights[s] = std::max(0.0, 1 - std::fabs(s + 0.5 - centre) / std::max(1.0, scale));
    }
    sum += weights[s];
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

double ByDefinition(const Picture& picture, const Region& region, std::uint32_t x, std::uint32_t y,
                    std::uint32_t channel) {
  const auto wx = WeightsByDefinition(region.x, region.filter, x, picture.width);
  const auto wy = WeightsByDefinition(region.y, region.filter, y, picture.height);
  double sum = 0;
  for (std::uint32_t v = 0; v < picture.height; ++v) {
    if (wy[v] == 0) continue;
    double row = 0;
    for (std::uint32_t u = 0; u < picture.width; ++u)
      row += wx[u] * picture.at(u, v)[channel];
    sum += wy[v] * row;
  }
  return sum;
}

Span SpanOf(double start, double length, std::uint32_t size, std::uint32_t out, std::uint32_t at,
            std::uint32_t target) {
  const auto bound = static_cast<std::uint32_t>(start);
  const auto end = std::min(static_cast<std::uint32_t>(std::ceil(start + length)), size);
  return {start, length, bound, end - bound, out, at, target};
}

ImagePayload Raw(const Picture& picture) {
  return {Codec::kRaw,
          PixelType::kUint8,
          static_cast<std::uint8_t>(picture.channels),
          picture.width,
          picture.height,
          {reinterpret_cast<const std::byte*>(picture.pixels.data()), picture.pixels.size()}};
}

std::vector<std::uint8_t> Decode(const Picture& picture, const Region& region, PixelOrder order) {
  std::vector<std::uint8_t> out(std::size_t{region.x.target} * region.y.target * picture.channels,
                                77);
  PayloadDecoder decoder;
  REQUIRE(decoder.Decode(Raw(picture), region, {out.data(), picture.channels, order}) == nullptr);
  return out;
}

// The offset of the region's output pixel (x, y) in the target.
std::size_t PlaceOf(const Region& region, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t across = region.x.at + x;
  return std::size_t{region.y.at + y} * region.x.target +
         (region.flip ? region.x.target - 1 - across : across);
}

Region RegionOf(const Span& x, const Span& y, bool flip, Filter filter) {
  Region region;
  region.x = x;
  region.y = y;
  region.flip = flip;
  region.filter = filter;
  return region;
}

std::vector<Region> Regions(std::uint32_t width, std::uint32_t height) {
  std::vector<Region> regions;
  for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
    for (const bool flip : {false, true}) {
      const auto add = [&](const Span& x, const Span& y) {
        regions.push_back(RegionOf(x, y, flip, filter));
      };
      add(SpanOf(0, width, width, 20, 0, 20), SpanOf(0, height, height, 13, 0, 13));
      add(SpanOf(10.25, 33.5, width, 24, 3, 40), SpanOf(3.75, 40.2, height, 31, 1, 33));
      add(SpanOf(5, 20, width, 50, 0, 50), SpanOf(8, 9, height, 41, 0, 41));
      add(SpanOf(0, width, width, 1, 0, 1), SpanOf(0, height, height, 1, 0, 1));
    }
  }
  return regions;
}

}  // namespace

TEST_CASE("Raw pixels are resampled by the filters' definitions, rounded after each pass") {
  const std::uint32_t channels = GENERATE(1U, 2U, 3U, 4U);
  const Picture picture = MakePicture(61, 47, channels, channels);
  for (const Region& region : Regions(61, 47)) {
    const auto pixels = Decode(picture, region, PixelOrder::kInterleaved);
    double worst = 0;
    for (std::uint32_t y = 0; y < region.y.out; ++y) {
      for (std::uint32_t x = 0; x < region.x.out; ++x) {
        for (std::uint32_t c = 0; c < channels; ++c) {
          worst = std::max(worst, std::fabs(ByDefinition(picture, region, x, y, c) -
                                            pixels[PlaceOf(region, x, y) * channels + c]));
        }
      }
    }
    CHECK(worst < 1.25);  // half a step for each pass, and the weights' rounding
  }
}

TEST_CASE(
    "Raw pixels reduced by factors of hundreds and thousands are also those of the definition") {
  for (const std::uint32_t size : {250U, 300U, 513U, 1000U, 3000U, 8000U}) {
    Picture one = MakePicture(size, 1, 1, 1), checkers = one, white = one;
    std::fill(one.pixels.begin(), one.pixels.end(), std::uint8_t{0});
    one.pixels[size / 2] = 255;
    for (std::uint32_t x = 0; x < size; ++x)
      checkers.pixels[x] = x % 2 == 0 ? 0 : 255;
    std::fill(white.pixels.begin(), white.pixels.end(), std::uint8_t{255});
    for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
      for (const Picture& picture : {MakePicture(size, 1, 1, 2), one, checkers, white}) {
        const Region across =
            RegionOf(SpanOf(0, size, size, 1, 0, 1), SpanOf(0, 1, 1, 1, 0, 1), false, filter);
        const int pixel = Decode(picture, across, PixelOrder::kInterleaved)[0];
        CAPTURE(size, int(filter), pixel, ByDefinition(picture, across, 0, 0, 0));
        CHECK(std::fabs(pixel - ByDefinition(picture, across, 0, 0, 0)) <= 1);
      }
    }
  }
}

TEST_CASE("Raw pixels by channel are the interleaved ones in another order") {
  const std::uint32_t channels = GENERATE(1U, 2U, 3U, 4U);
  const Picture picture = MakePicture(61, 47, channels, channels);
  std::vector<Region> regions = Regions(61, 47);
  for (const bool flip : {false, true}) {  // regions whose pixels are copied one to one
    regions.push_back({SpanOf(7, 30, 61, 30, 2, 40), SpanOf(0, 47, 47, 47, 0, 47), flip});
  }
  for (const Region& region : regions) {
    const auto interleaved = Decode(picture, region, PixelOrder::kInterleaved);
    const auto planar = Decode(picture, region, PixelOrder::kPlanar);
    const std::size_t count = planar.size() / channels;
    for (std::size_t i = 0; i < planar.size(); ++i)
      REQUIRE(planar[i] == interleaved[i % count * channels + i / count]);
  }
}

TEST_CASE("Raw pixels at their own size, mirrored or not, are the source's, with zeros around") {
  const std::uint32_t channels = GENERATE(1U, 2U, 3U, 4U);
  const Picture picture = MakePicture(61, 47, channels, channels);
  for (const bool flip : {false, true}) {
    const Region region{SpanOf(7, 30, 61, 30, 2, 40), SpanOf(5, 40, 47, 40, 1, 44), flip};
    const auto pixels = Decode(picture, region, PixelOrder::kInterleaved);
    std::vector<std::uint8_t> expected(pixels.size(), 0);
    for (std::uint32_t y = 0; y < 40; ++y) {
      for (std::uint32_t x = 0; x < 30; ++x)
        std::copy_n(picture.at(7 + x, 5 + y), channels,
                    &expected[PlaceOf(region, x, y) * channels]);
    }
    CHECK(pixels == expected);
  }
}

TEST_CASE(
    "With read_later, which lets writes bypass the caches, raw pixels are the same at any "
    "address") {
  const std::uint32_t channels = GENERATE(1U, 2U, 3U, 4U);
  const Picture picture = MakePicture(61, 47, channels, channels);
  const std::vector<Region> regions = {
      {SpanOf(0, 61, 61, 61, 0, 61), SpanOf(0, 47, 47, 47, 0, 47)},
      {SpanOf(0, 61, 61, 61, 0, 61), SpanOf(11, 20, 47, 20, 2, 30)},
      {SpanOf(7, 30, 61, 30, 2, 40), SpanOf(5, 40, 47, 40, 1, 44)},
      {SpanOf(9, 1, 61, 1, 0, 1), SpanOf(5, 40, 47, 40, 0, 40)}};
  PayloadDecoder decoder;
  for (const Region& region : regions) {
    const auto expected = Decode(picture, region, PixelOrder::kInterleaved);
    for (const std::size_t begin : {0, 1, 15, 16, 17}) {
      std::vector<std::uint8_t> out(begin + expected.size() + 32, 77);
      const PixelTarget target{.data = out.data() + begin,
                               .channels = channels,
                               .order = PixelOrder::kInterleaved,
                               .read_later = true};
      REQUIRE(decoder.Decode(Raw(picture), region, target) == nullptr);
      CHECK(std::equal(expected.begin(), expected.end(), target.data));
      const auto untouched = [](int value) { return value == 77; };
      CHECK(std::all_of(out.data(), target.data, untouched));
      CHECK(std::all_of(target.data + expected.size(), out.data() + out.size(), untouched));
    }
  }
}

TEST_CASE("A constant raw image stays the same, at any scale and with either filter") {
  for (const int value : {0, 1, 127, 254, 255}) {
    Picture picture{50, 40, 3, {}};
    picture.pixels.assign(50 * 40 * 3, static_cast<std::uint8_t>(value));
    for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
      for (const std::uint32_t side : {1U, 3U, 17U, 39U, 64U, 200U}) {
        const Region region = RegionOf(SpanOf(0, 50, 50, side, 0, side),
                                       SpanOf(0, 40, 40, side, 0, side), false, filter);
        const auto pixels = Decode(picture, region, PixelOrder::kInterleaved);
        REQUIRE(std::all_of(pixels.begin(), pixels.end(), [&](int v) { return v == value; }));
      }
    }
  }
}

TEST_CASE("Every set of kernels resamples raw pixels to the same bytes") {
  const Picture picture = MakePicture(300, 200, 3, 9);
  const PixelView view{picture.pixels.data(), 900, 300, 200, 3};
  const kernels::KernelList list = kernels::Available();
  for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
    const Region region = RegionOf(SpanOf(20.5, 250.25, 300, 112, 0, 112),
                                   SpanOf(3, 190, 200, 96, 0, 96), true, filter);
    std::vector<std::uint8_t> first;
    for (std::size_t s = 0; s < list.count; ++s) {
      std::vector<std::uint8_t> out(112 * 96 * 3);
      InterleavedResampler resampler(*list.sets[s]);
      resampler.Resample(view, MakeComponentAxis(region.x, 1, 300, filter),
                         MakeComponentAxis(region.y, 1, 200, filter), region, {out.data(), 3});
      if (first.empty()) first = out;
      CHECK(out == first);
    }
  }
}
