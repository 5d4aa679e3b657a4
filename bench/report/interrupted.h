// Thrown by a measurement whose stop token was triggered.
#pragma once

#include <stop_token>

namespace sluice::bench {

struct Interrupted {};

inline void ThrowIfStopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

}  // namespace sluice::bench
