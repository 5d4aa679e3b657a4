// The loader's options as the command line and the results name them.
#pragma once

#include <sluice/loader.h>

namespace sluice::bench {

constexpr const char* NameOf(Shuffle shuffle) noexcept {
  switch (shuffle) {
    case Shuffle::kQuasiRandom: return "quasi_random";
    case Shuffle::kRandom: return "random";
    case Shuffle::kSequential: return "sequential";
  }
  return "";
}

constexpr const char* NameOf(Verify verify) noexcept {
  switch (verify) {
    case Verify::kAuto: return "auto";
    case Verify::kAlways: return "always";
    case Verify::kFirstEpoch: return "first_epoch";
    case Verify::kNever: return "never";
  }
  return "";
}

}  // namespace sluice::bench
