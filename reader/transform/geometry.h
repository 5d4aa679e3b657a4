// From the geometric steps of a pipeline to the frame that a sample's picture is seen through.
//
// Each step changes the frame: which part of the picture the pixel grid shows, how large that grid
// is, how it is mirrored and turned. Pure arithmetic; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sluice/transform.h>

#include "reader/transform/frame.h"

namespace sluice {

class Geometry {
 public:
  // Takes the steps that move pixels. `sizes` as in LoaderOptions. Throws Error(kInvalidArgument)
  // for parameters out of range, and for steps that cannot be combined in this order.
  explicit Geometry(const Pipeline& pipeline, std::span<const OutputSize> sizes = {});

  using Extent = PictureExtent;
  // Of what comes out, if it does not depend on the picture's size.
  std::optional<Extent> FixedExtent(std::size_t stage = 0) const noexcept {
    return stages_[stage].fixed;
  }
  // Whether width and height may change places, so that they had better be equal.
  bool turns() const noexcept { return turns_; }
  // Whether one of the steps is a second pass.
  bool warps() const noexcept { return warps_; }
  bool empty() const noexcept { return stages_[0].pipeline.empty(); }
  const Pipeline& steps() const noexcept { return stages_[0].pipeline; }

  // Output sizes change with epochs: how many there are in turn, and which one an epoch has.
  std::size_t stages() const noexcept { return stages_.size(); }
  std::size_t StageOf(std::uint64_t epoch) const noexcept;

  // The frame for a picture of that size. `draw_seed` is that of the seed and epoch (DrawSeed
  // below), `position` the sample's in the epoch.
  Frame FrameFor(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
                 std::uint64_t position, std::size_t stage = 0) const;

 private:
  struct Stage {
    std::uint64_t epoch = 0;  // the first
    Pipeline pipeline;
    std::optional<Extent> fixed;
  };

  std::vector<Stage> stages_;  // one at the least
  bool turns_ = false;
  bool warps_ = false;
};

// What all draws of an epoch depend on. Each view of a sample has its own.
std::uint64_t DrawSeed(std::uint64_t seed, std::uint64_t epoch, std::uint16_t view = 0) noexcept;

}  // namespace sluice
