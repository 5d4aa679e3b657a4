// From the geometric transforms of a pipeline to the one region that decoding takes out of a
// picture.
//
// Each transform changes a frame: which part of the picture the pixel grid shows, how large that
// grid is, whether it is mirrored. The frame after the last one is the region. Pure arithmetic;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include <sluice/transform.h>

#include "format/pixels/decode.h"

namespace sluice {

class Geometry {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range, and for transforms that cannot be
  // combined in this order.
  explicit Geometry(const Pipeline& pipeline);

  // Width and height of what comes out, if it does not depend on the picture's size.
  struct Extent {
    std::uint32_t width = 0, height = 0;
  };
  std::optional<Extent> FixedExtent() const noexcept { return fixed_; }

  // The region for a picture of that size. `draw_seed` is that of the seed and epoch (DrawSeed
  // below), `position` the sample's in the epoch.
  Region RegionFor(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
                   std::uint64_t position) const;

  bool empty() const noexcept { return pipeline_.empty(); }

 private:
  Pipeline pipeline_;
  std::optional<Extent> fixed_;
};

// What all draws of an epoch depend on.
std::uint64_t DrawSeed(std::uint64_t seed, std::uint64_t epoch) noexcept;

}  // namespace sluice
