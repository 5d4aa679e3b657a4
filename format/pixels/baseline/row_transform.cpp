#include "format/pixels/baseline/row_transform.h"

#include "format/pixels/baseline/forward_steps.h"

namespace sluice::baseline {

RowTransform::RowTransform(const kernels::Kernels& set, const Header& header)
    : set_(set), row_(header), components_(header.components), blocks_(row_.values()) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    Part& part = parts_[c];
    part.h = header.component[c].h;
    part.lines = 8U * header.component[c].v;
    part.stride = width(c);
    part.samples.resize(part.stride * part.lines + kernels::kSlack);
    part.steps = MakeForwardSteps(header.quant[header.component[c].quant]);
  }
}

const std::int16_t* RowTransform::Run(std::uint32_t row) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = parts_[c];
    const std::uint32_t down = part.lines / 8;
    for (std::uint32_t y = 0; y < down && row * down + y < row_.down(c); ++y) {
      set_.transform_row({.samples = part.samples.data() + std::size_t{y} * 8 * part.stride,
                          .stride = part.stride,
                          .blocks = row_.across(c),
                          .steps = &part.steps,
                          .out = blocks_.data() + row_.PlaceOf(c, 0, y),
                          .mcu_stride = row_.mcu_values(),
                          .across = part.h});
    }
  }
  row_.FillEdges(row, blocks_.data());
  return blocks_.data();
}

void RowTransform::RunPlanes(std::uint32_t row, std::int16_t* const* planes) const {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = parts_[c];
    const std::uint32_t down = part.lines / 8, across = row_.across(c);
    for (std::uint32_t y = 0; y < down && row * down + y < row_.down(c); ++y) {
      std::int16_t* const out = planes[c] + (std::size_t{row} * down + y) * across * kCoefficients;
      set_.transform_row({.samples = part.samples.data() + std::size_t{y} * 8 * part.stride,
                          .stride = part.stride,
                          .blocks = across,
                          .steps = &part.steps,
                          .out = out,
                          .across = across,  // as if the row were one MCU
                          .natural = true});
    }
  }
}

}  // namespace sluice::baseline
