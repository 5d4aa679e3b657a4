#include "reader/transform/augment.h"

#include <algorithm>
#include <cmath>

#include "format/pixels/steps/affine.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

// Halves to even, as the tables round.
double Rounded(double value) noexcept {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return std::floor(value + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

void Warp(const AffineMap& to_source, bool bilinear, const std::array<std::uint8_t, 3>& fill,
          const Pixels& pixels, std::vector<std::uint8_t>& before) {
  before.assign(pixels.data, pixels.data + pixels.bytes());
  const Pixels in{before.data(), pixels.width, pixels.height, pixels.channels};
  if (bilinear) {
    WarpBilinear(in, to_source, fill, pixels);
  } else {
    WarpNearest(in, to_source, fill, pixels);
  }
}

// Against the clock, about the centre.
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
    case AugmentKind::kTranslateX: return (wide ? 32 : 150.0 / 331 * width) * share;
    case AugmentKind::kTranslateY: return (wide ? 32 : 150.0 / 331 * height) * share;
    case AugmentKind::kRotate: return (wide ? 135 : 30) * share;
    case AugmentKind::kBrightness:
    case AugmentKind::kColor:
    case AugmentKind::kContrast:
    case AugmentKind::kSharpness: return (wide ? 0.99 : 0.9) * share;
    case AugmentKind::kPosterize: return 8 - Rounded(bin / ((bins - 1) / (wide ? 6.0 : 4.0)));
    case AugmentKind::kSolarize: return 255 - 255 * share;
    default: return 0;
  }
}

bool AugmentHasSign(AugmentKind kind) noexcept {
  return kind >= AugmentKind::kShearX && kind <= AugmentKind::kSharpness;
}

void RunAugment(AugmentKind kind, double magnitude, bool bilinear,
                const std::array<std::uint8_t, 3>& fill, const Pixels& pixels,
                AugmentScratch& scratch) {
  const auto factor = static_cast<float>(1 + magnitude);
  const auto warp = [&](const AffineMap& to_source) {
    Warp(to_source, bilinear, fill, pixels, scratch.before);
  };
  switch (kind) {
    case AugmentKind::kIdentity: return;
    case AugmentKind::kShearX: return warp({1, magnitude, 0, 0, 1, 0});
    case AugmentKind::kShearY: return warp({1, 0, 0, magnitude, 1, 0});
    case AugmentKind::kTranslateX: return warp({1, 0, -std::trunc(magnitude), 0, 1, 0});
    case AugmentKind::kTranslateY: return warp({1, 0, 0, 0, 1, -std::trunc(magnitude)});
    case AugmentKind::kRotate: return warp(Rotation(magnitude, pixels));
    case AugmentKind::kBrightness: return AdjustBrightness(pixels, factor);
    case AugmentKind::kColor: return AdjustSaturation(pixels, factor);
    case AugmentKind::kContrast: return AdjustContrast(pixels, factor);
    case AugmentKind::kSharpness: return scratch.sharpness.Run(pixels, factor);
    case AugmentKind::kPosterize: return PosterizePixels(pixels, static_cast<unsigned>(magnitude));
    case AugmentKind::kSolarize:
      return SolarizePixels(pixels, static_cast<unsigned>(std::ceil(magnitude)));
    case AugmentKind::kAutoContrast: return StretchContrast(pixels);
    case AugmentKind::kEqualize: return EqualizePixels(pixels);
  }
}

}  // namespace sluice
