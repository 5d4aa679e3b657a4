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

}  // namespace sluice::baseline
