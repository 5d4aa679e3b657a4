// Pixel operations. Once the random numbers of a step that changes pixels are drawn, the step is
// one operation or several, each of a few numbers. The host (pixel_steps.h) or a device
// (reader/device/pixel_ops.h) runs them on the picture, and both make the same bytes.
//
// Operations are copied to devices byte by byte. This file is C++17, because nvcc compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reader/transform/on_device.h"

namespace sluice {

enum class PixelOpKind : std::uint8_t {
  kEnd,    // ends a sample's operations
  kWords,  // not an operation: more words of the one before it
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kHsv,
  kExchange,
  kGrey,
  kInvert,
  kSolarize,
  kPosterize,
  kErase,
  kNoise,    // kErase with random values; words: the place of their random stream (kNoiseWords)
  kStretch,  // AutoContrast
  kEqualize,
  kSharpen,
  kBlur,         // words: the weights up to the middle one, in 1/65536; the others mirror them
  kWarpNearest,  // words: the map to the source (kMapWords)
  kWarpBilinear,
};

struct PixelOp {
  PixelOpKind kind = PixelOpKind::kEnd;
  std::uint8_t value[3] = {0, 0, 0};  // kErase, kWarp: by channel
  float factor = 0;                   // kBrightness to kSaturation, kSharpen; kHue, kHsv: turns
  // kSolarize: the threshold. kPosterize: the number of bits. kNoise: RandomStream::Place::word.
  // kBlur: the number of weights, both sides counted. kExchange: as in ColourStep. kHsv: the bits
  // of the saturation's factor; those of the value's are in `left` and `top`.
  std::uint32_t number = 0;
  std::uint16_t left = 0, top = 0, width = 0, height = 0;  // kErase, kNoise: the rectangle
};
static_assert(sizeof(PixelOp) == 20);

SLUICE_ON_DEVICE inline float FloatOfBits(std::uint32_t bits) noexcept {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
SLUICE_ON_DEVICE inline float SaturationOf(const PixelOp& op) noexcept {
  return FloatOfBits(op.number);
}
SLUICE_ON_DEVICE inline float ValueOf(const PixelOp& op) noexcept {
  return FloatOfBits(op.left | std::uint32_t{op.top} << 16);
}

// More words of an operation, in the kWords after it: one in `number`, the others in pairs of
// 16-bit members.
inline constexpr std::uint32_t kWordsEach = 3;
inline constexpr std::uint32_t kNoiseWords = 6;    // the key (two words) and the counter (four)
inline constexpr std::uint32_t kMaxWeights = 255;  // of a kBlur, both sides counted
inline constexpr std::uint32_t kMapWords = 12;     // xx, xy, x0, yx, yy and y0, two words each
constexpr std::size_t OpsWithWords(std::size_t words) noexcept {
  return 1 + (words + kWordsEach - 1) / kWordsEach;
}
SLUICE_ON_DEVICE inline std::uint32_t WordOf(const PixelOp* op, std::uint32_t word) noexcept {
  const PixelOp& in = op[1 + word / kWordsEach];
  switch (word % kWordsEach) {
    case 0: return in.number;
    case 1: return in.left | std::uint32_t{in.top} << 16;
    default: return in.width | std::uint32_t{in.height} << 16;
  }
}
// A number in two words, the lower half first.
SLUICE_ON_DEVICE inline std::uint64_t Word64Of(const PixelOp* op, std::uint32_t word) noexcept {
  return std::uint64_t{WordOf(op, word + 1)} << 32 | WordOf(op, word);
}
// The weight of tap number `tap` of a kBlur, which has op->number taps.
SLUICE_ON_DEVICE inline std::uint32_t WeightOf(const PixelOp* op, std::uint32_t tap) noexcept {
  const std::uint32_t back = op->number - 1 - tap;
  return WordOf(op, tap < back ? tap : back);
}

// The operations of one step.
struct PixelOps {
  static constexpr std::size_t kMost = 80;  // RandAugment: 16 operations, 5 entries each
  PixelOp at[kMost];
  std::size_t count = 0;
  void Add(const PixelOp& op) { at[count++] = op; }
  void AddWords(const std::uint32_t* words, std::size_t words_count) {
    const auto word = [=](std::size_t i) { return i < words_count ? words[i] : 0; };
    for (std::size_t i = 0; i < words_count; i += kWordsEach) {
      PixelOp op;
      op.kind = PixelOpKind::kWords;
      op.number = word(i);
      op.left = static_cast<std::uint16_t>(word(i + 1));
      op.top = static_cast<std::uint16_t>(word(i + 1) >> 16);
      op.width = static_cast<std::uint16_t>(word(i + 2));
      op.height = static_cast<std::uint16_t>(word(i + 2) >> 16);
      Add(op);
    }
  }
};

}  // namespace sluice
