// The bytes of a finished row: what has to be copied to keep a row (LoaderOptions::keep) or to hand
// it to another loader (LoaderOptions::share). They have no names: GetRow() reads the parts in the
// order in which PutRow() gives them.
#pragma once

#include <algorithm>
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
  if (!slot.images.empty()) part(reinterpret_cast<std::byte*>(&slot.maps[row]), sizeof(RowMap));
  for (const SlotLayout::ArrayField& array : layout.arrays)
    at(array.offset, array.sample_bytes);
  for (VariableRows& variable : slot.variables)
    part(reinterpret_cast<std::byte*>(&variable.present[row]), 1);
}

// Calls `put(data, bytes)` for each part of the row: the fixed parts, then each variable field with
// its length.
template <class Put>
void PutRow(Slot& slot, std::size_t row, const Put& put) {
  ForEachFixedPart(slot, row, put);
  for (const VariableRows& variable : slot.variables) {
    const std::uint64_t bytes = variable.rows[row].size();
    put(reinterpret_cast<const std::byte*>(&bytes), sizeof bytes);
    put(variable.rows[row].data(), bytes);
  }
}

// Fills the row: calls `get(data, bytes)` for each part. `left()` says how many bytes are left; no
// variable field gets more. Sets slot.files[row] to null.
template <class Get, class Left>
void GetRow(Slot& slot, std::size_t row, const Get& get, const Left& left) {
  ForEachFixedPart(slot, row, get);
  for (VariableRows& variable : slot.variables) {
    std::uint64_t bytes = 0;
    get(reinterpret_cast<std::byte*>(&bytes), sizeof bytes);
    variable.rows[row].resize(std::min<std::uint64_t>(bytes, left()));
    get(variable.rows[row].data(), variable.rows[row].size());
  }
  slot.files[row] = {};
}

}  // namespace sluice
