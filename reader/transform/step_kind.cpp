#include "reader/transform/step_kind.h"

#include "reader/transform/all_steps.h"

namespace sluice {

namespace {

StepKind KindOfStep(const Transform& step) noexcept {
  return std::visit([]<class Step>(const Step&) { return StepOf<Step>::kKind; }, step);
}

// Two kinds of step must not draw the same numbers.
template <StepKind kind, class... Steps>
constexpr bool DrawOnTheirOwn(const std::variant<Steps...>*) {
  std::uint64_t seen = 0;
  const auto is_new = [&seen]<class Step>(const Step*) {
    if constexpr (StepOf<Step>::kKind == kind && requires { StepOf<Step>::kDraws; }) {
      const std::uint64_t bit = std::uint64_t{1} << StepOf<Step>::kDraws;
      if ((seen & bit) != 0) return false;
      seen |= bit;
    }
    return true;
  };
  return (is_new(static_cast<const Steps*>(nullptr)) && ...);
}
constexpr const Transform* kSteps = nullptr;
static_assert(DrawOnTheirOwn<StepKind::kGeometric>(kSteps));
static_assert(DrawOnTheirOwn<StepKind::kPixels>(kSteps));
static_assert(DrawOnTheirOwn<StepKind::kBatch>(kSteps));

}  // namespace

bool IsGeometric(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kGeometric;
}
bool ChangesPixels(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kPixels;
}
bool DrawsNumbers(const Transform& step) noexcept {
  return std::visit(
      []<class Step>(const Step&) {
        return requires {
          StepOf<Step>::kDraws;
        };
      },
      step);
}
bool ConcernsBatch(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kBatch;
}

}  // namespace sluice
