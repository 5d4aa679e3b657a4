// From samples to coefficients, a row of MCUs at a time: forward transform and quantisation, to the
// values that libjpeg-turbo's accurate integer transform gives.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/mcu_row.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

class RowTransform {
 public:
  // `header` is laid out and has the components' steps.
  RowTransform(const kernels::Kernels& set, const Header& header);

  // Samples of a component's line in whole blocks, and the lines of a row of MCUs.
  std::size_t width(std::uint32_t c) const noexcept { return std::size_t{row_.across(c)} * 8; }
  std::uint32_t lines(std::uint32_t c) const noexcept { return parts_[c].lines; }
  // Room for width() samples, all of which must be written for each row.
  std::uint8_t* Line(std::uint32_t c, std::uint32_t line) noexcept {
    Part& part = parts_[c];
    return part.samples.data() + line * part.stride;
  }

  // The row's blocks, with those that hold no pixels; valid until the next call. `row` counts from
  // the picture's top.
  const std::int16_t* Run(std::uint32_t row);
  // The same to all blocks of each component that hold pixels, row by row, in natural order.
  void RunPlanes(std::uint32_t row, std::int16_t* const* planes) const;

 private:
  struct Part {
    std::uint32_t h = 1, lines = 0;
    std::size_t stride = 0;
    std::vector<std::uint8_t> samples;
    kernels::ForwardSteps steps;
  };

  const kernels::Kernels& set_;
  const McuRow row_;
  std::uint32_t components_;
  Part parts_[3];
  std::vector<std::int16_t> blocks_;
};

}  // namespace sluice::baseline
