// Resampling and copying interleaved 8-bit pixels, as raw payloads have them, straight into a
// target.
//
// Both passes are weighted sums of lines of memory, each rounded to 8 bits: first rows, as they lie
// in the source, then columns, after each channel is transposed. Mirroring only changes the order
// of the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/axis.h"
#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/resample.h"

namespace sluice {

// Keeps its memory from picture to picture; one thread at a time. Reads no byte outside of the
// view's pixels and writes none outside of the target's.
class InterleavedResampler {
 public:
  explicit InterleavedResampler(const kernels::Kernels& set) : set_(set) {}

  // Resamples the part of the view that the axes name into region.x.out x region.y.out pixels of
  // the target, which has the view's number of channels.
  void Resample(const PixelView& view, const ComponentAxis& x, const ComponentAxis& y,
                const Region& region, const PixelTarget& target);

  // Copies pixels unchanged, from (left, top) on.
  void Copy(const PixelView& view, std::uint32_t left, std::uint32_t top, const Region& region,
            const PixelTarget& target);

 private:
  void ResampleLines(const PixelView& view, const ComponentAxis& x, const ComponentAxis& y);
  void ResampleChannel(const ComponentAxis& x, std::uint32_t rows, std::uint32_t channel);
  // Writes row `y` of the region. `row`: interleaved pixels; `rows`: a row of each channel.
  void WriteLine(const std::uint8_t* row, std::uint32_t y, const Region& region,
                 const PixelTarget& target);
  void WriteLine(const std::uint8_t* const* rows, std::uint32_t y, const Region& region,
                 const PixelTarget& target);

  const kernels::Kernels& set_;
  AxisWeights x_, y_;
  std::vector<std::uint8_t> row_;       // a row after the first pass, or a mirrored row
  std::vector<std::uint8_t> parts_[4];  // a row by channel
  // The rows of each channel: after the first pass; then, in the same memory, after the second.
  std::vector<std::uint8_t> planes_[4];
  // In the second pass: a channel's columns, and their sums. (In the first, sums_ is scratch.)
  std::vector<std::uint8_t> columns_, sums_;
  std::size_t stride_ = 0;  // of planes_
};

}  // namespace sluice
