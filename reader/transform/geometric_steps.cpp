#include "reader/transform/geometric_steps.h"

#include "reader/transform/all_steps.h"

namespace sluice {

namespace {

// Calls `declared` with the declaration of a geometric step; returns false for other steps.
template <class Declared>
bool OfGeometricStep(const Transform& step, const Declared& declared) {
  return std::visit(
      [&]<class Step>(const Step&) {
        if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) {
          return declared(StepOf<Step>{});
        } else {
          return false;
        }
      },
      step);
}

}  // namespace

bool Turns(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of) { return Of::kTurns; });
}

bool SwapsSides(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of) { return Of::kSwapsSides; });
}

bool Warps(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of) { return Of::kWarps; });
}

bool DrawsPart(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of) {
    return requires {
      Of::kDraws;
    }
    &&!Of::kTurns && !Of::kWarps;
  });
}

}  // namespace sluice
