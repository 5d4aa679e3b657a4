// A row of MCUs as blocks of coefficients: each MCU's blocks in turn, as a scan codes them, in
// zigzag order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/baseline/header.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

inline constexpr std::size_t kCoefficients = 64;

class McuRow {
 public:
  // `header` is laid out.
  explicit McuRow(const Header& header) noexcept;

  // Of an MCU.
  std::uint32_t blocks() const noexcept { return first_[components_]; }
  std::size_t mcu_values() const noexcept { return blocks() * kCoefficients; }
  // Of the row.
  std::size_t values() const noexcept { return mcus_ * mcu_values(); }

  // Blocks of a component that hold pixels.
  std::uint32_t across(std::uint32_t c) const noexcept { return part_[c].across; }
  std::uint32_t down(std::uint32_t c) const noexcept { return part_[c].down; }
  // Where the component's block (x, y) of the row begins; y counts from the row's top.
  std::size_t PlaceOf(std::uint32_t c, std::uint32_t x, std::uint32_t y) const noexcept {
    const Part& part = part_[c];
    return x / part.h * mcu_values() + (first_[c] + y * part.h + x % part.h) * kCoefficients;
  }

  // Where a component's blocks that hold pixels go: into rows of MCUs that lie one behind another,
  // or one behind another themselves, row by row.
  kernels::BlockPlaces InRows(std::uint32_t c, std::int16_t* rows) const noexcept;
  kernels::BlockPlaces InPlane(std::uint32_t c, std::int16_t* blocks) const noexcept;

  // Makes the blocks that hold no pixels, at the right and bottom edges, as cheap as can be: the
  // previous block's DC coefficient, which is what libjpeg gives them. `row` counts from the
  // picture's top.
  void FillEdges(std::uint32_t row, std::int16_t* blocks) const noexcept;

 private:
  struct Part {
    std::uint32_t h = 1, v = 1;
    std::uint32_t across = 0, down = 0;
  };
  std::uint32_t components_, mcus_;
  Part part_[3];
  std::uint32_t first_[4] = {};  // each component's first block in an MCU
};

}  // namespace sluice::baseline
