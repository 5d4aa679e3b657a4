// The declaration of a step that changes pixels. Its program is Draw(step, shape, draws, ops),
// called once the step's probability has been drawn: it adds the step's operations for a picture of
// that shape. They are run on the host (run_pixel_op.h) or on a device (reader/device/pixel_ops.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "format/pixels/steps/steps.h"
#include "reader/transform/pixel_op.h"
#include "reader/transform/step.h"

namespace sluice {

// The needs of operations on a device, besides each pixel's own values: the whole picture, and this
// many bytes of extra memory for each value.
struct DeviceNeed {
  bool whole = false;
  std::size_t spare_bytes = 0;
};

inline PixelOp OpOf(PixelOpKind kind, float factor = 0, std::uint32_t number = 0) {
  PixelOp op;
  op.kind = kind;
  op.factor = factor;
  op.number = number;
  return op;
}

// Defaults for declarations. None for kMovesPixels: whether pixels leave their places, so that no
// mask or box can follow the picture.
struct PixelStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kPixels;
  static constexpr const char* kRuns = "a pass over the row's pixels";
  // The most operations that it adds, words included.
  static std::size_t MostOps(const auto&) { return 1; }
  static DeviceNeed Need(const auto&) { return {}; }
  // Throws Error(kInvalidArgument) if it does not fit pictures of that size.
  static void CheckFits(const auto&, std::uint32_t, std::uint32_t) {}
};

}  // namespace sluice
