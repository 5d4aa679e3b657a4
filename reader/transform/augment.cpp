// The magnitudes are torchvision's, with its rounding: half to even for kPosterize, whole pixels
// for translations. For kBrightness to kSharpness, the magnitude is the distance of the factor from
// 1.
//
// A geometric operation becomes a warp, whose map goes from the target to the source. Its six
// numbers follow the operation as words, bit by bit. Sines and cosines come from portable_math.h,
// so that every machine makes the same picture. The number of draws must not depend on the kind
// that was drawn.
#include "reader/transform/augment.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "format/pixels/steps/steps.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

void AddWarp(const AffineMap& to_source, bool bilinear, const std::array<std::uint8_t, 3>& fill,
             PixelOps& ops) {
  PixelOp op = OpOf(bilinear ? PixelOpKind::kWarpBilinear : PixelOpKind::kWarpNearest);
  std::copy(fill.begin(), fill.end(), op.value);
  ops.Add(op);
  std::uint32_t words[kMapWords];
  std::size_t count = 0;
  for (const double number :
       {to_source.xx, to_source.xy, to_source.x0, to_source.yx, to_source.yy, to_source.y0}) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    words[count++] = static_cast<std::uint32_t>(bits);
    words[count++] = static_cast<std::uint32_t>(bits >> 32);
  }
  ops.AddWords(words, count);
}

// Counterclockwise, about the centre.
AffineMap Rotation(double degrees, const Pixels& pixels) noexcept {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  const double sine = PortableSin(degrees * kRadians), cosine = PortableCos(degrees * kRadians);
  const double x = pixels.width / 2.0, y = pixels.height / 2.0;
  return {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y};
}

}  // namespace

double AugmentMagnitude(AugmentKind kind, bool wide, std::uint32_t bin, std::uint32_t bins,
                        std::uint32_t width, std::uint32_t height) noexcept {
  const double share = double(bin) / (bins - 1);
  switch (kind) {
    case AugmentKind::kShearX:
    case AugmentKind::kShearY: return (wide ? 0.99 : 0.3) * share;
    // 150 pixels for pictures of 331, and in proportion for others, as in torchvision.
    case AugmentKind::kTranslateX: return (wide ? 32 : 150.0 / 331 * width) * share;
    case AugmentKind::kTranslateY: return (wide ? 32 : 150.0 / 331 * height) * share;
    case AugmentKind::kRotate: return (wide ? 135 : 30) * share;
    case AugmentKind::kBrightness:
    case AugmentKind::kColor:
    case AugmentKind::kContrast:
    case AugmentKind::kSharpness: return (wide ? 0.99 : 0.9) * share;
    case AugmentKind::kPosterize: return 8 - RoundHalfEven(bin / ((bins - 1) / (wide ? 6.0 : 4.0)));
    case AugmentKind::kSolarize: return 255 - 255 * share;
    case AugmentKind::kIdentity:
    case AugmentKind::kAutoContrast:
    case AugmentKind::kEqualize: break;
  }
  return 0;
}

bool AugmentHasSign(AugmentKind kind) noexcept {
  return kind >= AugmentKind::kShearX && kind <= AugmentKind::kSharpness;
}

AugmentKind DrawAugment(RandomStream& draws) noexcept {
  return static_cast<AugmentKind>(draws.Below(kAugmentKinds));
}

// The sign is always drawn, so that later draws do not depend on the kind.
double WithDrawnSign(AugmentKind kind, double magnitude, RandomStream& draws) noexcept {
  const bool negative = draws.Below(2) == 1;
  return negative && AugmentHasSign(kind) ? -magnitude : magnitude;
}

void AddAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& shape, PixelOps& ops) {
  const auto add = [&](PixelOpKind op, std::uint32_t number = 0) {
    ops.Add(OpOf(op, static_cast<float>(1 + magnitude), number));
  };
  const auto warp = [&](const AffineMap& to_source) { AddWarp(to_source, bilinear, fill, ops); };
  switch (kind) {
    case AugmentKind::kIdentity: return;
    case AugmentKind::kShearX: return warp({1, magnitude, 0, 0, 1, 0});
    case AugmentKind::kShearY: return warp({1, 0, 0, magnitude, 1, 0});
    case AugmentKind::kTranslateX: return warp({1, 0, -std::trunc(magnitude), 0, 1, 0});
    case AugmentKind::kTranslateY: return warp({1, 0, 0, 0, 1, -std::trunc(magnitude)});
    case AugmentKind::kRotate: return warp(Rotation(magnitude, shape));
    case AugmentKind::kBrightness: return add(PixelOpKind::kBrightness);
    case AugmentKind::kColor: return add(PixelOpKind::kSaturation);
    case AugmentKind::kContrast: return add(PixelOpKind::kContrast);
    case AugmentKind::kSharpness: return add(PixelOpKind::kSharpen);
    case AugmentKind::kPosterize:
      return add(PixelOpKind::kPosterize, static_cast<std::uint32_t>(magnitude));
    case AugmentKind::kSolarize:
      return add(PixelOpKind::kSolarize, static_cast<std::uint32_t>(std::ceil(magnitude)));
    case AugmentKind::kAutoContrast: return add(PixelOpKind::kStretch);
    case AugmentKind::kEqualize: return add(PixelOpKind::kEqualize);
  }
}

}  // namespace sluice
