// Stops the making of an order: over 10^9 samples it takes minutes, and the loader may be asked to
// stop meanwhile.
#pragma once

#include <atomic>
#include <exception>

namespace sluice {

struct OrderGivenUp : std::exception {
  const char* what() const noexcept override { return "the order was given up"; }
};

using GiveUp = const std::atomic<bool>*;  // null: never

inline void ThrowIfGivenUp(GiveUp give_up) {
  if (give_up != nullptr && give_up->load(std::memory_order_relaxed)) throw OrderGivenUp();
}

}  // namespace sluice
