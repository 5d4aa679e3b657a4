#include "reader/transform/step_kind.h"

#include "reader/transform/pixel_steps.h"

namespace sluice {

bool ConcernsBatch(const Transform& step) noexcept {
  return std::holds_alternative<OneHot>(step) || std::holds_alternative<MixUp>(step) ||
         std::holds_alternative<CutMix>(step);
}

bool IsGeometric(const Transform& step) noexcept {
  return !ChangesPixels(step) && !std::holds_alternative<Normalize>(step) && !ConcernsBatch(step);
}

}  // namespace sluice
