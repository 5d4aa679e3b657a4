#include "reader/transform/pixel_steps.h"

#include "reader/transform/all_steps.h"

namespace sluice {

namespace {

// Calls `visit` with the declaration and value of a step that changes pixels; returns `other` for
// other steps.
template <class Result, class Visit>
Result OfPixelStep(const Transform& step, Result other, const Visit& visit) {
  return std::visit(
      [&]<class Step>(const Step& op) -> Result {
        if constexpr (StepOf<Step>::kKind == StepKind::kPixels) {
          return visit(StepOf<Step>{}, op);
        } else {
          return other;
        }
      },
      step);
}

}  // namespace

bool MayMovePixels(const Transform& step) noexcept {
  return OfPixelStep(step, false, []<class Of>(Of, const auto&) { return Of::kMovesPixels; });
}

std::uint8_t DrawKind(const Transform& step) noexcept {
  return OfPixelStep(step, std::uint8_t{0}, []<class Of>(Of, const auto&) { return Of::kDraws; });
}

void CheckStepFits(const Transform& step, std::uint32_t width, std::uint32_t height) {
  OfPixelStep(step, 0, [=]<class Of>(Of, const auto& op) {
    Of::CheckFits(op, width, height);
    return 0;
  });
}

std::size_t MostOps(const Transform& step) noexcept {
  return OfPixelStep(step, std::size_t{0},
                     []<class Of>(Of, const auto& op) { return Of::MostOps(op); });
}

DeviceNeed NeedOf(const Transform& step) noexcept {
  return OfPixelStep(step, DeviceNeed{}, []<class Of>(Of, const auto& op) { return Of::Need(op); });
}

void DrawStep(const Transform& step, const Pixels& shape, RandomStream& draws, PixelOps& ops) {
  OfPixelStep(step, 0, [&]<class Of>(Of, const auto& op) {
    if (draws.Uniform() < op.probability) Of::Draw(op, shape, draws, ops);
    return 0;
  });
}

void RunStep(const Transform& step, const Pixels& pixels, RandomStream& draws,
             StepScratch& scratch) {
  PixelOps ops;
  DrawStep(step, pixels, draws, ops);
  RunPixelOps(ops.at, ops.count, pixels, scratch);
}

}  // namespace sluice
