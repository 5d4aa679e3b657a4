// The steps of a pipeline that change pixels, checked and ready to run.
//
// A program is shared by all worker threads; what a run works in belongs to each. Draws are a
// function of (seed, epoch, position, kind of step, how many of that kind came before).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  // parameters out of range, and for steps in an order that cannot be. With `numbers_later`,
  // Write() leaves Normalize to somebody else, who has numbers().
  explicit PixelProgram(const Pipeline& pipeline, bool numbers_later = false);

  // The pipeline has no step that changes pixels.
  bool empty() const noexcept { return steps_.empty() && !normalize_; }
  // Nothing to do here: pixels may be decoded straight into a batch.
  bool idle() const noexcept { return steps_.empty() && (!normalize_ || numbers_later_); }
  // Of the floating-point numbers that Write() makes; nothing: they are the pixels' own.
  std::optional<FloatType> output() const noexcept {
    return numbers_later_ ? std::nullopt : numbers_type();
  }
  // Of those that Normalize asks for, whoever makes them.
  std::optional<FloatType> numbers_type() const noexcept {
    return normalize_ ? std::optional(normalize_->type) : std::nullopt;
  }
  // Where there is a numbers_type(): for each of three channels the numbers of the values 0 to 255,
  // as bits of that type.
  std::span<const std::byte> numbers() const noexcept;
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
    std::vector<std::uint16_t> halves;  // kFloat16, kBFloat16
  };
  void Add(const Normalize& op);

  std::vector<Step> steps_;
  std::optional<Numbers> normalize_;
  bool numbers_later_ = false;
};

// Whether a step is one that moves pixels, which Geometry takes; or one for labels and whole
// batches, which BatchProgram takes; or one of those here.
bool IsGeometric(const Transform& transform) noexcept;
bool ConcernsBatch(const Transform& transform) noexcept;

// The nearest number of 16 bits (IEEE 754 binary16), halves to even.
std::uint16_t HalfOf(float value) noexcept;
// The nearest of bfloat16's, likewise; and the number that one stands for.
std::uint16_t BFloatOf(float value) noexcept;
float OfBFloat(std::uint16_t bits) noexcept;

}  // namespace sluice
