// The steps of a pipeline that change pixels, checked and ready to run.
//
// A program is shared by all worker threads; what a run works in belongs to each. Draws are a
// function of (seed, epoch, position, kind of step, how many of that kind came before).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "format/pixels/steps/blur.h"
#include "format/pixels/steps/colour.h"

namespace sluice {

class PixelProgram {
 public:
  // What one thread works in.
  struct Scratch {
    std::vector<std::uint8_t> pixels;  // of a picture before it is written to a batch
    std::vector<std::uint32_t> weights;
    Blur blur;
    Sharpness sharpness;
  };

  // Takes the steps of the pipeline that change pixels. Throws Error(kInvalidArgument) for
  // parameters out of range, and for steps in an order that cannot be.
  explicit PixelProgram(const Pipeline& pipeline);

  // Nothing to do: pixels may be decoded straight into a batch.
  bool empty() const noexcept { return steps_.empty() && !normalize_; }
  // Of floating-point numbers that batches hold; nothing: they hold the pixels' own.
  std::optional<FloatType> output() const noexcept {
    return normalize_ ? std::optional(normalize_->type) : std::nullopt;
  }
  // Throws Error(kInvalidArgument) where the steps do not fit pictures of that size.
  void CheckSize(std::uint32_t width, std::uint32_t height, std::uint32_t channels) const;

  // Changes the pixels in place.
  void Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
           Scratch& scratch) const;
  // Writes them to a batch, as its numbers.
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  struct Step {
    Transform transform;
    std::uint16_t stream = 0;  // of its draws
  };
  // Normalize as a table: number of a value in a channel, in the bits of the output's type.
  struct Numbers {
    FloatType type = FloatType::kFloat32;
    std::vector<float> mean, deviation;
    std::vector<float> values;          // kFloat32: 256 for each of three channels
    std::vector<std::uint16_t> halves;  // kFloat16
  };
  void Add(const Normalize& op);

  std::vector<Step> steps_;
  std::optional<Numbers> normalize_;
};

// Whether a step is one that moves pixels, which Geometry takes; or one for labels and whole
// batches, which BatchProgram takes; or one of those here.
bool IsGeometric(const Transform& transform) noexcept;
bool ConcernsBatch(const Transform& transform) noexcept;

// The nearest number of 16 bits (IEEE 754 binary16), halves to even.
std::uint16_t HalfOf(float value) noexcept;

}  // namespace sluice
