// The event for LoaderOptions::diagnostics.trace about work on a slot.
#pragma once

#include <sluice/loader_trace.h>

#include "reader/batch/slot.h"
#include "reader/decoding/stage_clock.h"

namespace sluice {

inline TraceEvent SlotEvent(TraceEvent::Kind kind, unsigned thread, const Slot& slot,
                            std::size_t begin_row, std::size_t end_row, Clock::time_point begin,
                            Clock::time_point end) {
  // The image that the consumer finds in Batch::image(), or else the slot's memory.
  const std::byte* place = slot.memory.data();
  if (slot.device != nullptr && !slot.images.empty())
    place = reinterpret_cast<const std::byte*>(slot.device->images[0].data);
  return {kind,
          thread,
          slot.epoch,
          slot.index,
          static_cast<std::uint32_t>(begin_row),
          static_cast<std::uint32_t>(end_row - begin_row),
          reinterpret_cast<const std::uint8_t*>(place),
          begin,
          end};
}

}  // namespace sluice
