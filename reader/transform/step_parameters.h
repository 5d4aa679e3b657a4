// Shared by the steps of a pipeline: refusing parameters, and drawing a number from a range.
#pragma once

#include <string>

#include <sluice/error.h>

#include "format/random.h"

namespace sluice {

[[noreturn]] inline void RefuseTransform(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "transform: " + what);
}

inline double Between(double low, double high, RandomStream& draws) noexcept {
  return low + draws.Uniform() * (high - low);
}

}  // namespace sluice
