#include "reader/decoding/kept_rows.h"

#include <cstring>
#include <type_traits>

namespace sluice {

namespace {

// Calls `part(data, bytes)` for each part of a row that has a size of its own for all rows.
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

}  // namespace

bool KeptRows::Restore(Slot& slot, std::size_t row) {
  if (store_ == nullptr) return false;
  Bytes kept = store_->Get(slot.refs[row].index, read_);
  if (kept.empty()) return false;
  const auto take = [&kept](std::byte* to, std::size_t bytes) {
    std::memcpy(to, kept.data(), bytes);
    kept = kept.subspan(bytes);
  };
  ForEachFixedPart(slot, row, take);
  for (VariableRows& variable : slot.variables) {
    std::uint64_t bytes = 0;
    take(reinterpret_cast<std::byte*>(&bytes), sizeof(bytes));
    variable.rows[row].resize(bytes);
    if (bytes > 0) take(variable.rows[row].data(), bytes);
  }
  slot.files[row] = {};
  return true;
}

void KeptRows::Keep(Slot& slot, std::size_t row) {
  const bool restored = slot.files[row] == nullptr;
  if (store_ == nullptr || restored || store_->full()) return;
  row_.clear();
  const auto put = [this](const std::byte* from, std::size_t bytes) {
    row_.insert(row_.end(), from, from + bytes);
  };
  ForEachFixedPart(slot, row, put);
  for (const VariableRows& variable : slot.variables) {
    const std::uint64_t bytes = variable.rows[row].size();
    put(reinterpret_cast<const std::byte*>(&bytes), sizeof(bytes));
    put(variable.rows[row].data(), bytes);
  }
  store_->Put(slot.refs[row].index, row_);
}

}  // namespace sluice
