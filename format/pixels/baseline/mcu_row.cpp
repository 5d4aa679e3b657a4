#include "format/pixels/baseline/mcu_row.h"

#include <cstring>

namespace sluice::baseline {

McuRow::McuRow(const Header& header) noexcept
    : components_(header.components), mcus_(header.mcus_across) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Component& component = header.component[c];
    part_[c] = {component.h, component.v, (component.width + 7) / 8, (component.height + 7) / 8};
    first_[c + 1] = first_[c] + std::uint32_t{component.h} * component.v;
  }
}

kernels::BlockPlaces McuRow::InRows(std::uint32_t c, std::int16_t* rows) const noexcept {
  const Part& part = part_[c];  // of h and v of 1 or 2
  return {rows + PlaceOf(c, 0, 0),
          part.across,
          part.down,
          part.h - 1,
          part.v - 1,
          mcu_values(),
          values()};
}

kernels::BlockPlaces McuRow::InPlane(std::uint32_t c, std::int16_t* blocks) const noexcept {
  const Part& part = part_[c];
  return {blocks, part.across, part.down, 0, 0, kCoefficients, part.across * kCoefficients};
}

void McuRow::FillEdges(std::uint32_t row, std::int16_t* blocks) const noexcept {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = part_[c];
    for (std::uint32_t y = 0; y < part.v; ++y) {
      const bool below = row * part.v + y >= part.down;
      for (std::uint32_t x = below ? 0 : part.across; x < mcus_ * part.h; ++x) {
        std::int16_t* const block = blocks + PlaceOf(c, x, y);
        // An MCU's first block of a component always holds pixels.
        const std::int16_t dc = *(block - kCoefficients);
        std::memset(block, 0, kCoefficients * sizeof(*block));
        block[0] = dc;
      }
    }
  }
}

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
