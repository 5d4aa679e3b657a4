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
#include "reader/transform/number_table.h"
#include "reader/transform/pixel_steps.h"

namespace sluice {

class PixelProgram {
 public:
  // Takes the steps of the pipeline that change pixels. Throws Error(kInvalidArgument) for
  // parameters out of range, and for steps in an order that cannot be. With `numbers_later`,
  // Write() leaves Normalize to somebody else, who has numbers().
  explicit PixelProgram(const Pipeline& pipeline, bool numbers_later = false);

  // The pipeline has no step that changes pixels.
  bool empty() const noexcept { return steps_.empty() && !numbers_; }
  // Nothing to do here: pixels may be decoded straight into a batch.
  bool idle() const noexcept { return steps_.empty() && (!numbers_ || numbers_later_); }
  // Of the floating-point numbers that Write() makes; nothing: they are the pixels' own.
  std::optional<FloatType> output() const noexcept {
    return numbers_later_ ? std::nullopt : numbers_type();
  }
  // Of those that Normalize asks for, whoever makes them.
  std::optional<FloatType> numbers_type() const noexcept {
    return numbers_ ? std::optional(numbers_->type()) : std::nullopt;
  }
  // Where there is a numbers_type(): for each of three channels the numbers of the values 0 to 255,
  // as bits of that type.
  std::span<const std::byte> numbers() const noexcept { return numbers_->bits(); }
  // Whether a step may move pixels, so that nothing can follow the picture.
  bool moves() const noexcept;
  // Throws Error(kInvalidArgument) where the steps do not fit pictures of that size.
  void CheckSize(std::uint32_t width, std::uint32_t height, std::uint32_t channels) const;

  // Changes the pixels in place.
  void Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
           StepScratch& scratch) const;
  // Writes them to a batch, as its numbers.
  void Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const;

 private:
  struct Step {
    Transform transform;
    std::uint16_t stream = 0;  // of its draws
  };

  std::vector<Step> steps_;
  std::optional<NumberTable> numbers_;
  bool numbers_later_ = false;
};

}  // namespace sluice
