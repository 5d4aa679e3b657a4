// What is left of a step that changes pixels once its random numbers are drawn: a few numbers, by
// which a picture is changed here (run_pixel_op.h) or on a device (reader/device/change.h), to the
// same bytes.
//
// Copied to devices as it is; C++17: nvcc compiles this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

enum class PixelOpKind : std::uint8_t {
  kEnd,  // of a sample's operations
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kGrey,
  kInvert,
  kSolarize,
  kPosterize,
  kErase,
};

struct PixelOp {
  PixelOpKind kind = PixelOpKind::kEnd;
  std::uint8_t value[3] = {0, 0, 0};  // kErase: by channel
  float factor = 0;                   // kBrightness to kSaturation; kHue: turns
  std::uint32_t number = 0;           // kSolarize: the threshold; kPosterize: bits
  std::uint16_t left = 0, top = 0, width = 0, height = 0;  // kErase: the rectangle, in pixels
};
static_assert(sizeof(PixelOp) == 20);

// What one step comes to.
struct PixelOps {
  PixelOp at[4];
  std::size_t count = 0;
  void Add(const PixelOp& op) { at[count++] = op; }
};

}  // namespace sluice
