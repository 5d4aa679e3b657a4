// What the declaration of a step that changes pixels has. Its program is Draw(step, shape, draws,
// ops): what the step comes to on a picture of that shape, once it is drawn that it is taken. The
// operations are run here (run_pixel_op.h) or on a device (reader/device/change.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "format/pixels/steps/colour.h"
#include "reader/transform/pixel_op.h"
#include "reader/transform/step.h"

namespace sluice {

// What operations may need of a device beyond each pixel's own values: the picture as a whole, and
// room for so many bytes a value beside it.
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

// What holds unless a declaration says otherwise.
struct PixelStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kPixels;
  static constexpr const char* kRuns = "a pass over the row's pixels";
  static constexpr bool kMovesPixels = false;  // so that nothing can follow the picture
  // How many operations it comes to at most, words included.
  static std::size_t MostOps(const auto&) { return 1; }
  static DeviceNeed Need(const auto&) { return {}; }
  // Throws Error(kInvalidArgument) if it does not fit pictures of that size.
  static void CheckFits(const auto&, std::uint32_t, std::uint32_t) {}
};

}  // namespace sluice
