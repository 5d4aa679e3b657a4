#include "reader/pipeline/slot.h"

#include <cstring>

#include "reader/pipeline/slot_layout.h"

namespace sluice {

namespace {

void MoveRow(std::byte* first, std::size_t row_bytes, std::size_t from, std::size_t to) {
  std::memcpy(first + to * row_bytes, first + from * row_bytes, row_bytes);
}

}  // namespace

void CloseGaps(Slot& slot) {
  std::size_t to = 0;
  slot.valid = 0;
  for (std::size_t from = 0; from < slot.rows; ++from) {
    if (slot.flags[from] == kLeftOut) continue;
    if (slot.flags[from] != SampleFlag::kFillsUp) ++slot.valid;
    if (to != from) {
      MoveRow(slot.memory.data(), slot.layout->image.sample_bytes(), from, to);
      for (const SlotLayout::ArrayField& array : slot.layout->arrays)
        MoveRow(slot.memory.data() + array.offset, array.sample_bytes, from, to);
      slot.flags[to] = slot.flags[from];
      slot.samples[to] = slot.samples[from];
    }
    ++to;
  }
  slot.size = slot.image.samples = to;
}

}  // namespace sluice
