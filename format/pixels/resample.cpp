// Weights are computed in doubles and rounded to 1/16384; the largest takes the rounding errors, so
// that they add up to exactly 1. From there on all is in integers: each sum begins with half a
// unit, so that the shift at its end rounds.
// The vertical pass makes one output row at a time from source rows, and skips weights of zero. The
// horizontal one reads every tap. So an output's run of taps is moved to the left where it would
// leave the source, and the taps that it gains there have the weight zero.
#include "format/pixels/resample.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

constexpr int kWeightBits = 14;
constexpr int kLineFractionBits = 6;

// The filter's reach around an output pixel's centre, in source pixels.
double Support(const Axis& axis) noexcept {
  return std::max(1.0, axis.length / axis.out);
}

// The source pixels around one centre: those whose own centres lie within the support.
void PixelsAround(double centre, double support, std::uint32_t size, std::uint32_t& first,
                  std::uint32_t& last) noexcept {
  const double low = std::floor(centre - support + 0.5);
  const double high = std::floor(centre + support + 0.5);
  const double limit = size;
  first = static_cast<std::uint32_t>(std::clamp(low, 0.0, limit - 1));
  last = static_cast<std::uint32_t>(std::clamp(high, double(first) + 1, limit));
}

}  // namespace

void SourceRange(const Axis& axis, std::uint32_t size, std::uint32_t& first, std::uint32_t& last) {
  const double scale = axis.length / axis.out;
  std::uint32_t unused = 0;
  PixelsAround(axis.start + 0.5 * scale, Support(axis), size, first, unused);
  PixelsAround(axis.start + (axis.out - 0.5) * scale, Support(axis), size, unused, last);
}

void Resampler::MakeWeights(const Axis& axis, std::uint32_t size, Weights& weights) {
  const double scale = axis.length / axis.out;
  const double support = Support(axis);
  const auto most = static_cast<std::uint32_t>(std::ceil(support)) * 2 + 1;
  weights.taps = std::min(most, size);
  weights.first.resize(axis.out);
  weights.values.assign(std::size_t{axis.out} * weights.taps, 0);
  std::vector<double>& exact = weights.exact;
  exact.resize(weights.taps);
  for (std::uint32_t i = 0; i < axis.out; ++i) {
    const double centre = axis.start + (i + 0.5) * scale;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    PixelsAround(centre, support, size, first, last);
    last = std::min(last, first + weights.taps);
    double sum = 0;
    for (std::uint32_t s = first; s < last; ++s) {
      exact[s - first] = std::max(0.0, 1.0 - std::fabs(s + 0.5 - centre) / support);
      sum += exact[s - first];
    }
    // Every tap is read, so the run of taps must lie inside the source: it is moved left if needed.
    const std::uint32_t begin = std::min(first, size - weights.taps);
    const std::size_t pixel = axis.mirrored ? axis.out - 1 - i : i;
    std::int16_t* const values = &weights.values[pixel * weights.taps];
    weights.first[pixel] = begin;
    std::int32_t rest = 1 << kWeightBits;
    std::uint32_t largest = first;
    for (std::uint32_t s = first; s < last; ++s) {
      const double share = sum > 0 ? exact[s - first] / sum : (s == first ? 1.0 : 0.0);
      const auto value = static_cast<std::int16_t>(std::floor(share * (1 << kWeightBits) + 0.5));
      values[s - begin] = value;
      rest -= value;
      if (value > values[largest - begin]) largest = s;
    }
    values[largest - begin] = static_cast<std::int16_t>(values[largest - begin] + rest);
  }
}

template <unsigned kChannels>
void Resampler::ResampleLine(const std::uint16_t* row, const Weights& weights, std::uint8_t* out) {
  constexpr int kShift = kWeightBits + kLineFractionBits;
  const std::uint32_t taps = weights.taps;
  const std::int16_t* values = weights.values.data();
  for (const std::uint32_t first : weights.first) {
    const std::uint16_t* pixel = row + std::size_t{first} * kChannels;
    std::int32_t sums[kChannels];
    std::fill_n(sums, kChannels, 1 << (kShift - 1));
    for (std::uint32_t t = 0; t < taps; ++t) {
      for (unsigned c = 0; c < kChannels; ++c)
        sums[c] += pixel[t * kChannels + c] * values[t];
    }
    for (unsigned c = 0; c < kChannels; ++c)
      *out++ = static_cast<std::uint8_t>(sums[c] >> kShift);
    values += taps;
  }
}

void Resampler::Resample(const PixelView& source, const Axis& x, const Axis& y,
                         const MutablePixelView& target) {
  MakeWeights(x, source.width, x_);
  MakeWeights(y, source.height, y_);
  const std::size_t values = std::size_t{source.width} * source.channels;
  row_.resize(values);
  constexpr int kShift = kWeightBits - kLineFractionBits;
  sums_.resize(values);
  std::int32_t* const sums = sums_.data();
  for (std::uint32_t i = 0; i < y.out; ++i) {
    std::ranges::fill(sums_, 1 << (kShift - 1));
    for (std::uint32_t t = 0; t < y_.taps; ++t) {
      const std::int32_t weight = y_.values[std::size_t{i} * y_.taps + t];
      if (weight == 0) continue;
      const std::uint8_t* const row = source.data + (std::size_t{y_.first[i]} + t) * source.stride;
      for (std::size_t v = 0; v < values; ++v)
        sums[v] += row[v] * weight;
    }
    for (std::size_t v = 0; v < values; ++v) {
      row_[v] = static_cast<std::uint16_t>(sums[v] >> kShift);
    }
    std::uint8_t* const out = target.data + i * target.stride;
    switch (source.channels) {
      case 1: ResampleLine<1>(row_.data(), x_, out); break;
      case 2: ResampleLine<2>(row_.data(), x_, out); break;
      case 3: ResampleLine<3>(row_.data(), x_, out); break;
      default: ResampleLine<4>(row_.data(), x_, out); break;
    }
  }
}

}  // namespace sluice
