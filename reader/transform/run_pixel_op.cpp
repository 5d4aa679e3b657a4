#include "reader/transform/run_pixel_op.h"

namespace sluice {

namespace {

void Erase(const PixelOp& op, const Pixels& pixels) noexcept {
  for (std::size_t y = op.top; y < std::size_t{op.top} + op.height; ++y) {
    std::uint8_t* at = pixels.data + (y * pixels.width + op.left) * pixels.channels;
    for (std::uint32_t x = 0; x < op.width; ++x)
      for (std::uint32_t c = 0; c < pixels.channels; ++c)
        *at++ = op.value[c];
  }
}

}  // namespace

void RunPixelOp(const PixelOp& op, const Pixels& pixels) noexcept {
  switch (op.kind) {
    case PixelOpKind::kEnd: return;
    case PixelOpKind::kBrightness: return AdjustBrightness(pixels, op.factor);
    case PixelOpKind::kContrast: return AdjustContrast(pixels, op.factor);
    case PixelOpKind::kSaturation: return AdjustSaturation(pixels, op.factor);
    case PixelOpKind::kHue: return AdjustHue(pixels, op.factor);
    case PixelOpKind::kGrey: return MakeGrey(pixels);
    case PixelOpKind::kInvert: return InvertPixels(pixels);
    case PixelOpKind::kSolarize: return SolarizePixels(pixels, op.number);
    case PixelOpKind::kPosterize: return PosterizePixels(pixels, op.number);
    case PixelOpKind::kErase: return Erase(op, pixels);
  }
}

}  // namespace sluice
