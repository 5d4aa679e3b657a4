// The steps of a pipeline that change pixels, checked and ready to run.
//
// A program is shared by all worker threads; what a run works in belongs to each. Draws are a
// function of (seed, epoch, position, kind of step, how many of that kind came before).
//
// Some of it can be left to a device (reader/device), which goes on where Run() ends: the last
// steps, as many as there is room for, as operations that are drawn here, and the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sluice/batch.h>
#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "reader/transform/number_table.h"
#include "reader/transform/pixel_steps.h"

namespace sluice {

// What a program leaves to a device, as far as there is any of it.
enum class DevicePart {
  kNone,
  kNumbers,  // Normalize
  kSteps,    // steps that change pixels, too
};

class PixelProgram {
 public:
  static constexpr std::size_t kMostDeviceOps = 256;  // for one sample

  // Takes the steps of the pipeline that change pixels. Throws Error(kInvalidArgument) for
  // parameters out of range, and for steps in an order that cannot be.
  explicit PixelProgram(const Pipeline& pipeline, DevicePart part = DevicePart::kNone);

  // The pipeline has no step that changes pixels.
  bool empty() const noexcept { return steps_.empty() && !numbers_; }
  // Nothing to do here: pixels may be decoded straight into a batch.
  bool idle() const noexcept { return steps_here_ == 0 && !output(); }
  // Of the floating-point numbers that Write() makes; nothing: they are the pixels' own.
  std::optional<FloatType> output() const noexcept {
    return part_ == DevicePart::kNone ? numbers_type() : std::nullopt;
  }
  // How many steps that change pixels Run() takes; those behind them are the device's.
  std::size_t steps_here() const noexcept { return steps_here_; }

  // Whether the device has something to do. It is given pixels as they are decoded (kNHWC), and for
  // each sample at most device_ops() operations, which may need what need() says.
  bool goes_on() const noexcept {
    return part_ != DevicePart::kNone && (numbers_ || device_ops_ > 0);
  }
  std::size_t device_ops() const noexcept { return device_ops_; }
  const DeviceNeed& need() const noexcept { return need_; }
  // What comes out in the end: for each of three channels the numbers of the values 0 to 255.
  ElementType type() const noexcept {
    return numbers_ ? ElementTypeOf(numbers_->type()) : ElementType::kUint8;
  }
  std::span<const std::byte> numbers() const noexcept;
  // Draws the device's operations for a picture of that shape, and what ends them.
  void DrawOps(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
               std::span<PixelOp> ops) const;

  // Whether a step may move pixels, so that nothing can follow the picture.
  bool moves() const noexcept;
  // Throws Error(kInvalidArgument) where the steps do not fit pictures of that size.
  void CheckSize(std::uint32_t width, std::uint32_t height, std::uint32_t channels) const;

  // Changes the pixels in place, but for what is left to a device.
  void Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
           StepScratch& scratch) const;
  // Writes them to a batch, as its numbers.
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  struct Step {
    Transform transform;
    std::uint16_t stream = 0;  // of its draws
  };

  std::optional<FloatType> numbers_type() const noexcept {
    return numbers_ ? std::optional(numbers_->type()) : std::nullopt;
  }
  void LeaveSteps();

  DevicePart part_;
  std::vector<Step> steps_;
  std::size_t steps_here_ = 0;
  std::size_t device_ops_ = 0;
  DeviceNeed need_;
  std::optional<NumberTable> numbers_;
};

}  // namespace sluice
