// Operations that compute a pixel from other pixels of its picture, and so write to another place:
// the work of one thread of a block, with the arithmetic of the host's own steps. C++17: nvcc
// compiles this (pixel_ops.h).
#pragma once

#include <cstring>

#include "reader/device/pixel_ops_point.h"

namespace sluice {

// The shape of a picture, and a thread's share of its pixels: `thread`, thread + threads, and so
// on.
struct FilterShare {
  std::uint32_t width = 0, height = 0, channels = 0;
  std::uint32_t thread = 0, threads = 1;
  SLUICE_ON_DEVICE std::uint64_t pixels() const { return std::uint64_t{width} * height; }
  SLUICE_ON_DEVICE std::uint64_t stride() const { return std::uint64_t{width} * channels; }
};

// The smoothed value at a pixel, from its neighbours; pixels lie `step` apart, and lines `stride`.
SLUICE_ON_DEVICE inline std::uint8_t SmoothedAt(const std::uint8_t* value, std::int64_t step,
                                                std::int64_t stride) {
  std::uint32_t sum = 4U * *value + 6;
  SLUICE_UNROLL
  for (std::int64_t line = -1; line <= 1; ++line) {
    SLUICE_UNROLL
    for (std::int64_t column = -1; column <= 1; ++column)
      sum += value[line * stride + column * step];
  }
  return on_device::SmoothValue(static_cast<std::uint16_t>(sum));
}

// kSharpen.
SLUICE_ON_DEVICE inline void SharpenShare(const FilterShare& share, float factor,
                                          const std::uint8_t* in, std::uint8_t* out) {
  const auto stride = static_cast<std::int64_t>(share.stride());
  for (std::uint64_t p = share.thread; p < share.pixels(); p += share.threads) {
    const std::uint32_t y = static_cast<std::uint32_t>(p) / share.width;
    const std::uint32_t x = static_cast<std::uint32_t>(p) % share.width;
    const bool inner = x > 0 && x + 1 < share.width && y > 0 && y + 1 < share.height;
    for (std::uint32_t c = 0; c < share.channels; ++c) {
      const std::uint8_t* const value = in + p * share.channels + c;
      const std::uint8_t smooth = inner ? SmoothedAt(value, share.channels, stride) : *value;
      out[p * share.channels + c] = on_device::BlendValue(smooth, *value, factor);
    }
  }
}

// The weighted sum of `taps` values that lie `step` apart in a row or column of `side` values; `at`
// is the place of the middle one. Near an end, places outside are mirrored.
template <class Value>
SLUICE_ON_DEVICE inline std::uint32_t WeightedSum(const Value* values, std::uint32_t step,
                                                  std::uint32_t at, std::uint32_t side,
                                                  const std::uint32_t* weights,
                                                  std::uint32_t taps) {
  const std::uint32_t reach = taps / 2;
  std::uint32_t sum = 0;
  if (at >= reach && at - reach + taps <= side) {
    const Value* value = values + std::uint64_t{at - reach} * step;
    for (std::uint32_t tap = 0; tap < taps; ++tap, value += step)
      sum += *value * weights[tap];
    return sum;
  }
  for (std::uint32_t tap = 0; tap < taps; ++tap) {
    const auto place = static_cast<std::int32_t>(at + tap - reach);  // a side is at most 65535
    const auto within = on_device::Mirrored(place, static_cast<std::int32_t>(side));
    sum += values[static_cast<std::uint64_t>(within) * step] * weights[tap];
  }
  return sum;
}

// kBlur with `taps` weights: first along columns, then along lines.
SLUICE_ON_DEVICE inline void BlurColumnsShare(const FilterShare& share,
                                              const std::uint32_t* weights, std::uint32_t taps,
                                              const std::uint8_t* in, std::uint16_t* out) {
  const auto stride = static_cast<std::uint32_t>(share.stride());
  constexpr std::uint32_t kHalf = 1U << (on_device::kColumnsShift - 1);
  for (std::uint64_t i = share.thread; i < share.pixels() * share.channels; i += share.threads) {
    const auto y = static_cast<std::uint32_t>(i / stride);
    const std::uint32_t sum =
        kHalf + WeightedSum(in + i % stride, stride, y, share.height, weights, taps);
    out[i] = static_cast<std::uint16_t>(sum >> on_device::kColumnsShift);
  }
}
SLUICE_ON_DEVICE inline void BlurLinesShare(const FilterShare& share, const std::uint32_t* weights,
                                            std::uint32_t taps, const std::uint16_t* in,
                                            std::uint8_t* out) {
  const auto stride = static_cast<std::uint32_t>(share.stride());
  constexpr std::uint32_t kHalf = 1U << (on_device::kLinesShift - 1);
  for (std::uint64_t i = share.thread; i < share.pixels() * share.channels; i += share.threads) {
    const std::uint32_t in_line = static_cast<std::uint32_t>(i % stride);
    const std::uint32_t x = in_line / share.channels;
    const std::uint16_t* const line = in + (i - in_line) + in_line % share.channels;
    const std::uint32_t sum =
        kHalf + WeightedSum(line, share.channels, x, share.width, weights, taps);
    out[i] = static_cast<std::uint8_t>(sum >> on_device::kLinesShift);
  }
}

// A kWarp's words: the map from a pixel of the target to its place in the source.
struct WarpMap {
  double xx = 1, xy = 0, x0 = 0, yx = 0, yy = 1, y0 = 0;
};
SLUICE_ON_DEVICE inline double NumberOf(const PixelOp* op, std::uint32_t number) {
  const std::uint64_t bits = Word64Of(op, 2 * number);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
SLUICE_ON_DEVICE inline WarpMap MapOf(const PixelOp* op) {
  return {NumberOf(op, 0), NumberOf(op, 1), NumberOf(op, 2),
          NumberOf(op, 3), NumberOf(op, 4), NumberOf(op, 5)};
}

// Like the host's WarpBilinear() and WarpNearest(), but each pixel on its own.
SLUICE_ON_DEVICE inline void WarpBilinearShare(const FilterShare& share, const PixelOp* op,
                                               const std::uint8_t* in, std::uint8_t* out) {
  const WarpMap map = MapOf(op);
  const std::int64_t xx = on_device::FinePlace(map.xx), yx = on_device::FinePlace(map.yx);
  for (std::uint64_t p = share.thread; p < share.pixels(); p += share.threads) {
    const std::uint32_t line = static_cast<std::uint32_t>(p) / share.width;
    const std::uint32_t column = static_cast<std::uint32_t>(p) % share.width;
    const std::int64_t at_x = on_device::FinePlace(on_device::RowX(map, line + 0.5)) + column * xx;
    const std::int64_t at_y = on_device::FinePlace(on_device::RowY(map, line + 0.5)) + column * yx;
    std::uint8_t* const to = out + p * share.channels;
    if (!on_device::LiesInside<on_device::kFine>(at_x, at_y, share.width, share.height)) {
      for (std::uint32_t c = 0; c < share.channels; ++c)
        to[c] = op->value[c];
      continue;
    }
    const on_device::Pair x = on_device::PairAt(at_x, share.width);
    const on_device::Pair y = on_device::PairAt(at_y, share.height);
    const std::uint8_t* const above = in + y.first * share.stride();
    const std::uint8_t* const below = in + y.second * share.stride();
    for (std::uint32_t c = 0; c < share.channels; ++c) {
      to[c] = on_device::MixedValue(above, below, std::uint64_t{x.first} * share.channels + c,
                                    std::uint64_t{x.second} * share.channels + c, x.share, y.share);
    }
  }
}
SLUICE_ON_DEVICE inline void WarpNearestShare(const FilterShare& share, const PixelOp* op,
                                              const std::uint8_t* in, std::uint8_t* out) {
  const WarpMap map = MapOf(op);
  const std::int64_t first_x = on_device::CoarsePlace(on_device::RowX(map, 0.5));
  const std::int64_t first_y = on_device::CoarsePlace(on_device::RowY(map, 0.5));
  const std::int64_t xx = on_device::CoarsePlace(map.xx), xy = on_device::CoarsePlace(map.xy);
  const std::int64_t yx = on_device::CoarsePlace(map.yx), yy = on_device::CoarsePlace(map.yy);
  for (std::uint64_t p = share.thread; p < share.pixels(); p += share.threads) {
    const std::uint32_t line = static_cast<std::uint32_t>(p) / share.width;
    const std::uint32_t column = static_cast<std::uint32_t>(p) % share.width;
    const std::int64_t x = first_x + line * xy + column * xx;
    const std::int64_t y = first_y + line * yy + column * yx;
    const bool inside = on_device::LiesInside<on_device::kCoarse>(x, y, share.width, share.height);
    const std::uint64_t from = static_cast<std::uint64_t>(y >> on_device::kCoarse) * share.width +
                               static_cast<std::uint64_t>(x >> on_device::kCoarse);
    for (std::uint32_t c = 0; c < share.channels; ++c)
      out[p * share.channels + c] = inside ? in[from * share.channels + c] : op->value[c];
  }
}

// Any of these operations but a blur.
SLUICE_ON_DEVICE inline void FilterPicture(const FilterShare& share, const PixelOp* op,
                                           const std::uint8_t* in, std::uint8_t* out) {
  switch (op->kind) {
    case PixelOpKind::kSharpen: return SharpenShare(share, op->factor, in, out);
    case PixelOpKind::kWarpNearest: return WarpNearestShare(share, op, in, out);
    case PixelOpKind::kWarpBilinear: return WarpBilinearShare(share, op, in, out);
    default: return;
  }
}

}  // namespace sluice
