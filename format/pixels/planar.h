// Resampling a picture's components, each at its own resolution, straight to the output's size, and
// colour only there.
//
// The filters are those of axis.h; a component of half the size is seen as half as fast a walk
// over it (its samples lie centred on the pixels they stand for, as JFIF has it). Both passes are
// weighted sums of lines of memory, rounded to 8 bits each: along columns first, which is how
// planes are stored, then, after a transposition, along rows. Mirroring is another order of
// weights.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/axis.h"
#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice {

// The largest power of two up to 8 by which a component may be made smaller on both axes and still
// have at least so many samples for each output pixel. `x_factor` and `y_factor` are those of its
// sampling.
std::uint32_t ReductionLog2(const Region& region, std::uint32_t x_factor, std::uint32_t y_factor,
                            std::uint32_t samples_per_pixel) noexcept;

// A component's samples by columns: (x, y) lies at data[(x - left) * stride + (y - top)].
// kernels::kSlack bytes behind each column's wanted part may be read.
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

  // Fills the target's region from one plane (grey) or three (Y, Cb, Cr). A grey picture for three
  // channels is repeated; of a colour picture for one channel only Y is looked at.
  void Run(const ColumnPlane* planes, std::uint32_t count, const Region& region,
           const PixelTarget& target);

 private:
  struct Lines {  // a component after the first pass: rows of the output's width
    std::vector<std::uint8_t> bytes;
    std::size_t stride = 0;
    const AxisWeights* y = nullptr;
  };

  void ResampleColumns(const ColumnPlane& plane, bool mirrored, AxisWeights& x, AxisWeights& y,
                       Lines& lines);
  const std::uint8_t* ResampleRow(const Lines& lines, std::uint32_t row, std::size_t width,
                                  std::vector<std::uint8_t>& out) const;
  void WriteRow(std::uint32_t row, std::uint32_t components, const Region& region,
                const PixelTarget& target);

  const kernels::Kernels& set_;
  AxisWeights x_[3];  // by component; those of Cr where they are not Cb's
  AxisWeights y_[3];
  std::vector<std::uint8_t> columns_;
  Lines lines_[3];
  std::vector<std::uint8_t> row_[3];
  std::vector<std::uint8_t> planes_[3];
};

}  // namespace sluice
