// Operations on single pixels: the work of a thread on a few of them at once, with the arithmetic
// of the host's own steps. C++17: nvcc compiles this (pixel_ops.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "reader/device/pixels_to_numbers.h"

namespace sluice {

namespace on_device {
#define SLUICE_INLINE SLUICE_ON_DEVICE inline
#include "format/philox.inc.h"
#include "format/pixels/kernels/pixel.inc.h"
#include "format/pixels/steps/shared.inc.h"
#undef SLUICE_INLINE
}  // namespace on_device

// The findings of earlier phases about the whole picture, for the operations that need them.
struct Findings {
  const std::uint8_t* means = nullptr;  // of each kContrast in turn
  const std::uint8_t* table = nullptr;  // 3 x 256, of the present kStretch or kEqualize
};

// Operations on one pixel. It has `channels` channels, or three if the operation needs colours.
SLUICE_ON_DEVICE inline void BlendPixel(float base, float factor, std::uint32_t channels,
                                        std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = on_device::BlendValue(base, values[c], factor);
}
SLUICE_ON_DEVICE inline void SaturatePixel(float factor, std::uint8_t* values) {
  const std::uint32_t grey = on_device::GreyValue(values[0], values[1], values[2]);
  BlendPixel(static_cast<float>(grey), factor, 3, values);
}
// Stores a colour that was turned by the rest of `turn`. A turn by a third makes red what blue was.
SLUICE_ON_DEVICE inline void StoreTurned(const on_device::Colour& colour,
                                         const on_device::HueTurn& turn, std::uint8_t* values) {
  const on_device::Colour turned = on_device::Exchanged(colour, (3 - turn.thirds) % 3);
  values[0] = static_cast<std::uint8_t>(turned.r);
  values[1] = static_cast<std::uint8_t>(turned.g);
  values[2] = static_cast<std::uint8_t>(turned.b);
}
SLUICE_ON_DEVICE inline void TurnPixel(const on_device::HueTurn& turn, std::uint8_t* values) {
  StoreTurned(on_device::TurnedColour(values[0], values[1], values[2], turn.rest), turn, values);
}
SLUICE_ON_DEVICE inline void ChangeHsvOf(const on_device::HueTurn& turn, float saturation,
                                         float value, std::uint8_t* values) {
  StoreTurned(on_device::HsvColour(values[0], values[1], values[2], turn.rest, saturation, value),
              turn, values);
}
SLUICE_ON_DEVICE inline void ExchangeChannels(std::uint32_t order, std::uint8_t* values) {
  const std::uint8_t before[3] = {values[0], values[1], values[2]};
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    values[c] = before[order >> 2 * c & 3];
}
SLUICE_ON_DEVICE inline void GreyPixel(std::uint8_t* values) {
  const std::uint32_t grey = on_device::GreyValue(values[0], values[1], values[2]);
  values[0] = values[1] = values[2] = static_cast<std::uint8_t>(grey);
}
SLUICE_ON_DEVICE inline void SolarizePixel(std::uint32_t threshold, std::uint32_t channels,
                                           std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c < channels && values[c] >= threshold)
      values[c] = static_cast<std::uint8_t>(255 - values[c]);
  }
}
SLUICE_ON_DEVICE inline void MaskPixel(std::uint32_t mask, std::uint32_t channels,
                                       std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = static_cast<std::uint8_t>(values[c] & mask);
}
SLUICE_ON_DEVICE inline void LookUpPixel(const std::uint8_t* table, std::uint32_t channels,
                                         std::uint8_t* values) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) values[c] = table[c * 256 + values[c]];
}

// Replaces a pixel that lies in the rectangle of a kErase or kNoise. `pixel`: its number in the
// picture. A kNoise takes a word of a random stream for each value of the rectangle, pixel by
// pixel.
SLUICE_ON_DEVICE inline void ErasePixel(const PixelOp* op, std::uint32_t pixel, std::uint32_t width,
                                        std::uint32_t channels, std::uint8_t* values) {
  const std::uint32_t y = pixel / width - std::uint32_t{op->top};
  const std::uint32_t x = pixel % width - std::uint32_t{op->left};
  // Differences are modulo 2^32, so one that should be negative is too large here.
  if (y >= op->height || x >= op->width) return;
  const bool noise = op->kind == PixelOpKind::kNoise;
  const std::uint64_t first =
      op->number + (std::uint64_t{y} * op->width + x) * channels;  // the pixel's first word
  std::uint32_t words[4] = {};
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c >= channels) return;
    const std::uint64_t at = first + c;
    if (noise && (c == 0 || at % 4 == 0)) {
      SLUICE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i)
        words[i] = WordOf(op, 2 + i);
      words[0] += static_cast<std::uint32_t>(at / 4);
      on_device::TakePhilox(Word64Of(op, 0), words);
    }
    values[c] = noise ? static_cast<std::uint8_t>(words[at % 4] >> 24) : op->value[c];
  }
}

// Runs one operation on pixels `first` .. `first` + kCount - 1 of a picture, which lie three bytes
// apart. Does nothing for an operation that writes to another place.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline void ApplyOp(const PixelOp* op, const Findings& found, std::uint32_t first,
                                     std::uint32_t width, std::uint32_t channels,
                                     std::uint8_t* run) {
#define SLUICE_EACH_PIXEL SLUICE_UNROLL for (std::uint32_t p = 0; p < kCount; ++p)
  switch (op->kind) {
    case PixelOpKind::kEnd:
    case PixelOpKind::kWords:
    case PixelOpKind::kSharpen:
    case PixelOpKind::kBlur:
    case PixelOpKind::kWarpNearest:
    case PixelOpKind::kWarpBilinear: return;
    case PixelOpKind::kBrightness:
      SLUICE_EACH_PIXEL BlendPixel(0.0F, op->factor, channels, run + 3 * p);
      return;
    case PixelOpKind::kContrast:
      SLUICE_EACH_PIXEL BlendPixel(*found.means, op->factor, channels, run + 3 * p);
      return;
    case PixelOpKind::kSaturation:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL SaturatePixel(op->factor, run + 3 * p);
      return;
    case PixelOpKind::kHue: {
      if (channels != 3) return;
      const auto turn = on_device::HueTurnOf(op->factor * 6);
      SLUICE_EACH_PIXEL TurnPixel(turn, run + 3 * p);
      return;
    }
    case PixelOpKind::kHsv: {
      if (channels != 3) return;
      const auto turn = on_device::HueTurnOf(op->factor * 6);
      SLUICE_EACH_PIXEL ChangeHsvOf(turn, SaturationOf(*op), ValueOf(*op), run + 3 * p);
      return;
    }
    case PixelOpKind::kExchange:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL ExchangeChannels(op->number, run + 3 * p);
      return;
    case PixelOpKind::kGrey:
      if (channels != 3) return;
      SLUICE_EACH_PIXEL GreyPixel(run + 3 * p);
      return;
    case PixelOpKind::kInvert: SLUICE_EACH_PIXEL SolarizePixel(0, channels, run + 3 * p); return;
    case PixelOpKind::kSolarize:
      SLUICE_EACH_PIXEL SolarizePixel(op->number, channels, run + 3 * p);
      return;
    case PixelOpKind::kPosterize:
      SLUICE_EACH_PIXEL MaskPixel(0xFF00U >> op->number, channels, run + 3 * p);
      return;
    case PixelOpKind::kErase:
    case PixelOpKind::kNoise:
      SLUICE_EACH_PIXEL ErasePixel(op, first + p, width, channels, run + 3 * p);
      return;
    case PixelOpKind::kStretch:
    case PixelOpKind::kEqualize:
      SLUICE_EACH_PIXEL LookUpPixel(found.table, channels, run + 3 * p);
      return;
  }
#undef SLUICE_EACH_PIXEL
}

// Reads a run of pixels that begins at number `first` of its picture: four pixels of three
// channels, or one pixel.
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline FourPixels LoadRun(const std::uint8_t* picture, std::uint32_t channels,
                                           std::uint64_t first) {
  if (kCount == 4) return reinterpret_cast<const FourPixels*>(picture)[first / 4];
  FourPixels run{};
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c)
    if (c < channels) run.at[c] = picture[first * channels + c];
  return run;
}
template <std::uint32_t kCount>
SLUICE_ON_DEVICE inline void StoreRun(const FourPixels& run, std::uint32_t channels,
                                      std::uint64_t first, std::uint8_t* picture) {
  if constexpr (kCount == 4) {
    reinterpret_cast<FourPixels*>(picture)[first / 4] = run;
  } else {
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c)
      if (c < channels) picture[first * channels + c] = run.at[c];
  }
}

}  // namespace sluice
