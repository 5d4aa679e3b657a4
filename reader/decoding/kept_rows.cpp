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
  const auto shown = [&](std::vector<VisiblePart>& rows) {
    if (!rows.empty()) part(reinterpret_cast<std::byte*>(&rows[row]), sizeof(VisiblePart));
  };
  if (layout.image_field != Schema::kNone) at(0, slot.image.sample_bytes());
  shown(slot.shown);
  for (std::size_t i = 0; i < slot.further_images.size(); ++i) {
    FurtherImage& further = slot.further_images[i];
    at(layout.further_images[i].offset, further.image.sample_bytes());
    part(reinterpret_cast<std::byte*>(&further.present[row]), 1);
    shown(further.shown);
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
