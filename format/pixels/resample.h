// Resampling of 8-bit images for the writer: separable, anti-aliased with a triangle filter, in
// fixed point. The reader's filters are in axis.h.
//
// The filter is that of Pillow's BILINEAR and torchvision's antialias=True. Output pixel i is the
// weighted mean of the source pixels whose centres lie within max(1, scale) of the point (i + 0.5)
// * scale + start. Weights fall linearly with the distance and are clipped at the source's edge.
// All arithmetic on pixels is in integers, so the same input gives the same bytes on any machine:
// the vertical pass keeps six bits of fraction, the horizontal one rounds once to eight bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

// A source interval, in source pixels, spread over `out` output pixels, the last one first if
// `mirrored`.
struct Axis {
  double start = 0;   // of the interval: 0 is the left (upper) edge of the first pixel
  double length = 0;  // > 0; may reach beyond the source, whose outermost pixels then repeat
  std::uint32_t out = 0;
  bool mirrored = false;
};

// Interleaved 8-bit pixels; `stride` is in bytes from row to row.
struct PixelView {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // 1..4
};

struct MutablePixelView {
  std::uint8_t* data = nullptr;
  std::size_t stride = 0;
};

// Holds its weights and rows from call to call. One thread at a time.
class Resampler {
 public:
  // Fills x.out x y.out interleaved pixels. Source and target must not overlap.
  void Resample(const PixelView& source, const Axis& x, const Axis& y,
                const MutablePixelView& target);

 private:
  struct Weights {
    std::uint32_t taps = 0;            // for each output pixel
    std::vector<std::uint32_t> first;  // of each output pixel: its first source pixel
    std::vector<std::int16_t> values;  // `taps` a pixel, in 1/16384, adding up to 16384 exactly
    std::vector<double> exact;         // of the current output pixel
  };
  static void MakeWeights(const Axis& axis, std::uint32_t size, Weights& weights);
  template <unsigned kChannels>
  static void ResampleLine(const std::uint16_t* row, const Weights& weights, std::uint8_t* out);

  Weights x_, y_;
  std::vector<std::int32_t> sums_;  // one output row, vertically resampled, in 1/16384
  std::vector<std::uint16_t> row_;  // the same in 1/64
};

// Source pixels [first, last) that the axis needs, for a source of `size` pixels.
void SourceRange(const Axis& axis, std::uint32_t size, std::uint32_t& first, std::uint32_t& last);

}  // namespace sluice
