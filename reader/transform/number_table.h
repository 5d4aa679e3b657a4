// Normalize, ready to run: value * scale + offset in single precision, each step rounded; numbers
// of 16 bits are those rounded once more, and come from a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/steps/colour.h"

namespace sluice {

class NumberTable {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range.
  explicit NumberTable(const Normalize& op);

  FloatType type() const noexcept { return type_; }
  // Whether there is a number for every channel; one for all of them fits any picture.
  bool Fits(std::uint32_t channels) const noexcept { return channels >= channels_; }
  // For each of three channels the numbers of the values 0 to 255, as Write() makes them.
  std::span<const std::byte> bits() const noexcept;
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  void WriteFloats(const Pixels& pixels, PixelOrder order, float* target) const;
  FloatType type_;
  std::uint32_t channels_;  // that mean or deviation tell apart
  // By channel, in turn as interleaved pixels have them.
  std::array<float, kernels::kFloatRun> scales_{}, offsets_{};
  std::vector<float> floats_;          // 256 for each of three channels
  std::vector<std::uint16_t> halves_;  // the same in 16 bits: kFloat16, kBFloat16
};

}  // namespace sluice
