// The operations of RandAugment and TrivialAugmentWide, and their magnitudes.
#pragma once

#include <array>
#include <cstdint>

#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/pixel_op.h"

namespace sluice {

// In the order of torchvision's tables. Draws are indices into it: never change it.
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

// The magnitude of an operation at `bin` of `bins` (2 or more), without its sign: a shear's
// tangent, pixels, degrees, a factor's distance from 1, bits kept, or a threshold; 0 if it has
// none. RandAugment's translations are relative to the picture's size, TrivialAugmentWide's are
// not.
double AugmentMagnitude(AugmentKind kind, bool wide, std::uint32_t bin, std::uint32_t bins,
                        std::uint32_t width, std::uint32_t height) noexcept;
// Whether the sign is drawn.
bool AugmentHasSign(AugmentKind kind) noexcept;
// Draws which operation, and its sign.
AugmentKind DrawAugment(RandomStream& draws) noexcept;
double WithDrawnSign(AugmentKind kind, double magnitude, RandomStream& draws) noexcept;

// Adds its operations for pictures of that shape (the pixels are not read): at most
// kMostAugmentOps. Geometric operations fill the pixels they leave empty with the colour `fill`.
inline constexpr std::size_t kMostAugmentOps = OpsWithWords(kMapWords);
void AddAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& shape, PixelOps& ops);

}  // namespace sluice
