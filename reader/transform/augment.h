// The operations of RandAugment and TrivialAugmentWide, and how strong they are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "format/pixels/steps/blur.h"
#include "format/pixels/steps/colour.h"

namespace sluice {

// In the order of torchvision's tables, which draws count by: never changed.
enum class AugmentKind : std::uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
};
inline constexpr std::size_t kAugmentKinds = 14;

// How strong an operation is at `bin` of `bins` (2 or more), without its sign: a shear's tangent,
// pixels, degrees, what a factor differs from 1 by, bits kept, a threshold; 0 where there is none.
// RandAugment's translations go by the picture's size, TrivialAugmentWide's do not.
double AugmentMagnitude(AugmentKind kind, bool wide, std::uint32_t bin, std::uint32_t bins,
                        std::uint32_t width, std::uint32_t height) noexcept;
// Whether the sign is drawn.
bool AugmentHasSign(AugmentKind kind) noexcept;

struct AugmentScratch {
  std::vector<std::uint8_t> before;
  Sharpness sharpness;
};
// What geometric operations leave empty gets the colour `fill`.
void RunAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& pixels,
                AugmentScratch& scratch);

}  // namespace sluice
