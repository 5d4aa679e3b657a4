// The numbers that batches hold: 16-bit floats, and the table by which Normalize turns the values
// of pixels into numbers.
//
// The newest FloatType is kBFloat16. A further one also goes into these files, where "bfloat|bf16"
// shows how:
//   reader/include/sluice/pixel_transform.h
//   reader/include/sluice/batch.h         its ElementType
//   reader/batch/batch.cpp
//   reader/batch/dlpack.cpp
//   reader/batch/dlpack_abi.h
//   reader/include/sluice/torch.h
//   reader/python/binding/batch.cpp
//   reader/python/binding/schema.cpp
//   reader/python/binding/steps.cpp
//   reader/transform/steps/numbers.h      its words in a transform's text
//   reader/transform/number_table.cpp
//   format/half.h                         its conversion
//   reader/decoding/wide_painter.cpp
//   reader/transform/batch_mix.cpp
//   reader/TRANSFORMS.md
//   format/pixels/kernels/kernels.h       its loop
//   format/pixels/kernels/set.inc.h
//   format/pixels/kernels/steps.inc.h
//   format/pixels/kernels/lines_plain.h   this and the next two: how its numbers are stored
//   format/pixels/kernels/lines_avx2.h
//   format/pixels/kernels/lines_neon.h
//   bench/parts/upload.cpp
//   tests/pixels/step_kernels_test.cpp
//   tests/reader/pixel_program_test.cpp
//   tests/reader/parse_pipeline_test.cpp
//   tests/reader/user_function_test.cpp
//   tests/device/pixels_to_numbers_test.cpp
//   tests/device/device_steps_test.cpp
//   tests/device/device_batch_test.cpp
//   tests/device/dlpack_test.cpp
//   tests/device/torch_test.cpp
//   tests/device/cuda_test.cpp            on a card
//   tests/python/test_batches.py
//   not tests/                            the tests not listed use bfloat16 only as an example
//   not samples/                          uses bfloat16 for its models
//   not reader/GPU.md                     uses bfloat16 only in examples
//   not bench/README.md                   uses bfloat16 only in examples
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sluice/transform.h>

#include "format/half.h"
#include "format/pixels/decode.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/steps/steps.h"

namespace sluice {

// Throws Error(kInvalidArgument) for numbers that no type of pixels has a use for.
void CheckNumbers(const Normalize& op);

// Calls use(channel, values, count, begin) for runs of pixels of three interleaved channels, split
// into planes: `count` values of the channel, from pixel number `begin` on.
template <class Use>
void EachPlaneRun(const Pixels& pixels, const Use& use) {
  constexpr std::size_t kTogether = 1024;  // pixels
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  std::uint8_t planes[3][kTogether + kernels::kSlack];
  for (std::size_t begin = 0; begin < count; begin += kTogether) {
    const std::size_t now = std::min(kTogether, count - begin);
    kernels::Chosen().split_rgb(pixels.data + begin * 3, now, planes[0], planes[1], planes[2]);
    for (std::size_t c = 0; c < 3; ++c)
      use(c, planes[c], now, begin);
  }
}

// Normalize for 8-bit pictures, ready to run: value * scale + offset in single precision, rounded
// after each operation. For a 16-bit type, the result is then rounded to that type.
class NumberTable {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range.
  explicit NumberTable(const Normalize& op);

  FloatType type() const noexcept { return type_; }
  // Whether pictures of that many channels have a channel for each mean and deviation; a single
  // mean and deviation fit any picture.
  bool Fits(std::uint32_t channels) const noexcept { return channels >= channels_; }
  // For each of three channels, the numbers for the values 0 to 255, as Write() makes them.
  std::span<const std::byte> bits() const noexcept;
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  template <class Number, class Make>
  void WriteBy(Make make, const Pixels& pixels, PixelOrder order, Number* target) const;
  void WriteFromTable(const Pixels& pixels, PixelOrder order, std::uint16_t* target) const;
  FloatType type_;
  bool finite_ = true;      // false if a tiny deviation made a number overflow
  std::uint32_t channels_;  // the number of means or of deviations, whichever is larger
  // By channel, repeated like interleaved pixels.
  std::array<float, kernels::kFloatRun> scales_{}, offsets_{};
  std::vector<float> floats_;          // 256 for each of three channels
  std::vector<std::uint16_t> halves_;  // the same in 16 bits: kFloat16, kBFloat16
};

}  // namespace sluice
