// Resamples each component of a picture from its own resolution straight to the output's size. The
// components are converted to RGB only at that size.
//
// The filters are those of axis.h. In a component of half the size, all positions are halved (its
// samples lie centred on the pixels they stand for, as JFIF says). Both passes are sums of lines
// of memory with weights, rounded to 8 bits: first along columns, which is how planes are stored,
// then, after a transposition, along rows. Mirroring only changes the order of the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/axis.h"
#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice {

// Log2 of the largest reduction, up to 8, that leaves a component at least `samples_per_pixel`
// samples for each output pixel on both axes. `x_factor` and `y_factor`: pixels that one of its
// samples stands for.
std::uint32_t ReductionLog2(const Region& region, std::uint32_t x_factor, std::uint32_t y_factor,
                            std::uint32_t samples_per_pixel) noexcept;

// The region that a component's samples are resampled to: `region` or, for halved chroma, half of
// its size on both axes.
Region RegionOf(const Region& region, std::uint32_t component, const DecodePolicy& policy) noexcept;

// A component's samples by columns: (x, y) lies at data[(x - left) * stride + (y - top)]. Up to
// kernels::kSlack bytes after each column's wanted part may be read.
struct ColumnPlane {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;
  std::uint32_t left = 0, top = 0;
  ComponentAxis x, y;
};

// Keeps its memory from picture to picture; one thread at a time.
class PlanarResampler {
 public:
  explicit PlanarResampler(const kernels::Kernels& set) : set_(set) {}

  // Fills the target's region from one plane (grey) or three (Y, Cb, Cr). Grey is repeated for a
  // target of three channels; for a target of one channel, only Y is read.
  void Run(const ColumnPlane* planes, std::uint32_t count, const Region& region,
           const PixelTarget& target);

  // Fills Ycc420Values() from three planes whose axes are those of RegionOf(); the region is not
  // transposed.
  void RunYcc420(const ColumnPlane* planes, const Region& region, std::uint8_t* values);

 private:
  struct Lines {  // a component after the first pass: rows of the output's width
    std::vector<std::uint8_t> bytes;
    std::size_t stride = 0;
    const AxisWeights* y = nullptr;  // null: the lines are the output's rows already
  };

  void ResampleColumns(const ColumnPlane* planes, std::uint32_t component, bool mirrored);
  void HalvePlane(const ColumnPlane& plane, Lines& lines);
  std::size_t GrowColumns(std::uint32_t columns, std::uint32_t rows);
  void ToLines(std::uint32_t columns, std::uint32_t rows, Lines& lines);
  const std::uint8_t* ResampleLine(const Lines& lines, std::uint32_t row, std::size_t width,
                                   std::vector<std::uint8_t>& out) const;
  void WriteLine(std::uint32_t row, std::uint32_t components, const Region& region,
                 const PixelTarget& target);

  const kernels::Kernels& set_;
  AxisWeights x_[3];  // by component; Cr uses Cb's weights if both are sampled alike
  AxisWeights y_[3];
  std::vector<std::uint8_t> columns_;  // a component after the first pass, before it becomes Lines
  Lines lines_[3];                     // by component
  std::vector<std::uint8_t> row_[3];   // by component: a row after the second pass
  std::vector<std::uint8_t> planes_;   // a row of each colour
};

}  // namespace sluice
