// Normalize, ready to run: value * scale + offset in single precision, rounded after each
// operation. 16-bit floats are rounded from that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/steps/steps.h"

namespace sluice {

class NumberTable {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range.
  explicit NumberTable(const Normalize& op);

  FloatType type() const noexcept { return type_; }
  // Whether every channel has a mean and deviation; a single one fits any picture.
  bool Fits(std::uint32_t channels) const noexcept { return channels >= channels_; }
  // For each of three channels, the numbers for the values 0 to 255, as Write() makes them.
  std::span<const std::byte> bits() const noexcept;
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  template <class Number, class Make>
  void WriteBy(Make make, const Pixels& pixels, PixelOrder order, Number* target) const;
  void WriteFromTable(const Pixels& pixels, PixelOrder order, std::uint16_t* target) const;
  FloatType type_;
  bool finite_ = true;      // no number overflows, as tiny deviations cause
  std::uint32_t channels_;  // the larger number of means and deviations
  // By channel, repeated like interleaved pixels.
  std::array<float, kernels::kFloatRun> scales_{}, offsets_{};
  std::vector<float> floats_;          // 256 for each of three channels
  std::vector<std::uint16_t> halves_;  // the same in 16 bits: kFloat16, kBFloat16
};

}  // namespace sluice
