// The bytes of a finished row: what has to be copied to keep a row (LoaderOptions::keep) or to hand
// it to another loader (LoaderOptions::share).
#pragma once

#include <type_traits>

#include "reader/batch/slot.h"

namespace sluice {

// Calls `part(data, bytes)` for each part of a row whose size is the same for all rows.
template <class Part>
void ForEachFixedPart(Slot& slot, std::size_t row, const Part& part) {
  static_assert(std::is_trivially_copyable_v<VisiblePart>);
  const SlotLayout& layout = *slot.layout;
  const auto at = [&](std::size_t offset, std::size_t bytes) {
    part(slot.memory.data() + offset + row * bytes, bytes);
  };
  for (std::size_t i = 0; i < slot.images.size(); ++i) {
    SlotImage& image = slot.images[i];
    at(layout.images[i].offset, image.image.sample_bytes());
    if (i >= layout.views) part(reinterpret_cast<std::byte*>(&image.present[row]), 1);
    if (!image.shown.empty())
      part(reinterpret_cast<std::byte*>(&image.shown[row]), sizeof(VisiblePart));
  }
  for (const SlotLayout::ArrayField& array : layout.arrays)
    at(array.offset, array.sample_bytes);
  for (VariableRows& variable : slot.variables)
    part(reinterpret_cast<std::byte*>(&variable.present[row]), 1);
}

}  // namespace sluice
