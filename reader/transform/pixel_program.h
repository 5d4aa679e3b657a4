// The steps of a pipeline that change pixels, checked and ready to run.
//
// All worker threads share a program; each has its own scratch memory. Draws are a function of
// (seed, epoch, position, kind of step, number of earlier steps of that kind).
//
// A device (reader/device) can run the end of the pipeline: as many of the last steps as fit into
// kMaxDeviceOps operations, and then Normalize. Run() runs the earlier steps on the host; DrawOps()
// draws the operations of the later ones for the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/batch.h>
#include <sluice/loader_options.h>
#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "reader/transform/geometry.h"
#include "reader/transform/number_table.h"
#include "reader/transform/pixel_steps.h"
#include "reader/transform/steps.h"

namespace sluice {

// The part of a program that is left to a device.
enum class DevicePart {
  kNone,
  kNumbers,  // Normalize
  kSteps,    // steps that change pixels, too
};

class PixelProgram {
 public:
  static constexpr std::size_t kMaxDeviceOps = 256;  // for one sample

  // Uses the pipelines' steps that change pixels. `wide`: for wide images (IsWide), which no device
  // changes. Throws Error(kInvalidArgument) for parameters out of range, and for steps that cannot
  // stand in this order.
  explicit PixelProgram(const std::vector<PipelineStage>& stages,
                        DevicePart part = DevicePart::kNone, bool wide = false);
  explicit PixelProgram(const Pipeline& pipeline, DevicePart part = DevicePart::kNone)
      : PixelProgram(StagesOf(pipeline), part) {}

  std::size_t stages() const noexcept { return stages_.size(); }  // the same as Geometry's
  // Whether no stage has Normalize or a step that changes pixels.
  bool empty() const noexcept;
  // Whether the host has nothing to do: pixels may then be decoded straight into a batch.
  bool idle(std::size_t stage = 0) const noexcept {
    return stages_[stage].steps_here == 0 && !output();
  }
  // The type of the floats that Write() makes; nothing if it leaves pixels as they are.
  std::optional<FloatType> output() const noexcept {
    return part_ == DevicePart::kNone ? numbers_type() : std::nullopt;
  }
  // The number of steps that Run() runs; the device runs the later ones.
  std::size_t steps_here(std::size_t stage = 0) const noexcept { return stages_[stage].steps_here; }

  // Whether the device has work. The device gets pixels as decoded (kNHWC), and at most
  // device_ops() operations for each sample, which may need what need() says.
  bool continues_on_device() const noexcept {
    return part_ != DevicePart::kNone && (numbers_ || device_ops_ > 0);
  }
  std::size_t device_ops() const noexcept { return device_ops_; }
  const DeviceNeed& need() const noexcept { return need_; }
  // The final type of values, and for each of three channels the numbers for the values 0 to 255.
  ElementType type() const noexcept {
    return numbers_ ? ElementTypeOf(numbers_->type()) : ElementType::kUint8;
  }
  std::span<const std::byte> numbers() const noexcept;
  // Draws the device's operations for a picture of that shape, and adds the kEnd.
  void DrawOps(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
               std::span<PixelOp> ops, std::size_t stage = 0) const;

  // Whether a step may move pixels: then no mask, boxes or points can follow the picture.
  bool moves() const noexcept;
  // Throws Error(kInvalidArgument) if the stage's steps do not fit pictures of that size.
  void CheckSize(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                 std::size_t stage = 0) const;

  // For a program of wide images. Throws Error(kInvalidArgument) unless all steps of the stage fit
  // such images of that size. `of`: the images, for messages.
  void CheckWide(const std::string& of, std::uint32_t width, std::uint32_t height,
                 std::uint32_t channels, std::size_t stage) const;
  // Draws the operations of all steps for a picture of that shape.
  void DrawWide(const Pixels& shape, std::uint64_t draw_seed, std::uint64_t position,
                std::size_t stage, std::vector<PixelOp>& ops) const;
  // Normalize, for wide images; null if there is none.
  const Normalize* wide_numbers() const noexcept {
    return wide_numbers_ ? &*wide_numbers_ : nullptr;
  }

  // Changes the pixels in place, by all steps that are not left to a device.
  void Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
           StepScratch& scratch, std::size_t stage = 0) const;
  // Writes pixels to a batch, as its numbers.
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  struct Step {
    Transform transform;
    std::uint16_t stream = 0;  // the stream of its draws
    std::string word;          // its name in PartTime
  };

  std::optional<FloatType> numbers_type() const noexcept {
    if (wide_numbers_) return wide_numbers_->type;
    return numbers_ ? std::optional(numbers_->type()) : std::nullopt;
  }
  struct Stage {
    std::vector<Step> steps;
    std::size_t steps_here = 0;
  };
  Stage StageOf(const Pipeline& pipeline);
  void LeaveSteps(Stage& stage);  // leaves to the device as many of the last steps as fit

  DevicePart part_;
  std::vector<Stage> stages_;
  std::size_t device_ops_ = 0;  // of the stage with the most
  DeviceNeed need_;
  bool wide_ = false;
  std::optional<NumberTable> numbers_;
  std::optional<Normalize> wide_numbers_;  // instead of numbers_, for wide images
};

// The programs that make one view of a sample's image: that of LoaderOptions::transform, or one of
// LoaderOptions::views.
struct ViewProgram {
  std::string name;  // empty for the first
  Geometry geometry;
  PixelProgram pixels;
};

// The part of the steps that LoaderOptions::device does, the same for every view.
DevicePart DevicePartOf(const LoaderOptions& options) noexcept;

// Whether MixUp, CutMix or CopyPaste mixes the pictures of a batch in some epoch.
bool MixesPictures(const LoaderOptions& options) noexcept;
// Whether MixUp does.
bool Blends(const LoaderOptions& options) noexcept;

// Makes the programs of all views; the first is for LoaderOptions::transform. `wide`: the picture
// is a wide image. Throws Error(kInvalidArgument).
std::vector<ViewProgram> ViewsOf(const LoaderOptions& options, bool wide = false);

}  // namespace sluice
