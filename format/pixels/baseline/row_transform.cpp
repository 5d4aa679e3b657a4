#include "format/pixels/baseline/row_transform.h"

#include <bit>

namespace sluice::baseline {

namespace {

// A step q lies in [2^b, 2^(b + 1)). The reciprocal is 2^(15 + b) / q, rounded up by less than one,
// so that x * reciprocal / 2^(18 + b), which the two multiplications give for x below 2^14, is
// never a whole number more than x / 8q.
kernels::ForwardSteps StepsOf(const std::int16_t* quant) noexcept {
  kernels::ForwardSteps steps;
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    const auto step = static_cast<std::uint32_t>(quant[i]);
    const auto log2 = static_cast<std::uint32_t>(std::bit_width(step)) - 1;
    steps.half[i] = static_cast<std::uint16_t>(step * 4);
    steps.reciprocal[i] = static_cast<std::uint16_t>(((1U << (15 + log2)) + step - 1) / step);
    steps.scale[i] = static_cast<std::uint16_t>(1U << (14 - log2));
  }
  return steps;
}

}  // namespace

RowTransform::RowTransform(const kernels::Kernels& set, const Header& header)
    : set_(set), row_(header), components_(header.components), blocks_(row_.values()) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    Part& part = parts_[c];
    part.h = header.component[c].h;
    part.lines = 8U * header.component[c].v;
    part.stride = width(c);
    part.samples.resize(part.stride * part.lines + kernels::kSlack);
    part.steps = StepsOf(header.quant[header.component[c].quant]);
  }
}

const std::int16_t* RowTransform::Run(std::uint32_t row) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = parts_[c];
    const std::uint32_t down = part.lines / 8;
    for (std::uint32_t y = 0; y < down && row * down + y < row_.down(c); ++y) {
      set_.transform_row({part.samples.data() + std::size_t{y} * 8 * part.stride, part.stride,
                          row_.across(c), &part.steps, blocks_.data() + row_.PlaceOf(c, 0, y),
                          row_.mcu_values(), part.h});
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
