// The operations of RandAugment and TrivialAugmentWide, and how strong they are.
#pragma once

#include <array>
#include <cstdint>

#include "format/pixels/steps/colour.h"
#include "format/random.h"
#include "reader/transform/pixel_op.h"

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
// What is drawn of an operation: which one, and its sign.
AugmentKind DrawAugment(RandomStream& draws) noexcept;
double WithDrawnSign(AugmentKind kind, double magnitude, RandomStream& draws) noexcept;

// Adds what it comes to on pictures of that shape, whose data are not looked at: at most
// kMostAugmentOps. What geometric operations leave empty gets the colour `fill`.
inline constexpr std::size_t kMostAugmentOps = OpsWithWords(kMapWords);
void AddAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& shape, PixelOps& ops);

}  // namespace sluice
