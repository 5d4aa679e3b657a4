// What measuring throws where its stop token asked it to end.
#pragma once

#include <stop_token>

namespace sluice::bench {

struct Interrupted {};

inline void ThrowIfStopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

}  // namespace sluice::bench
