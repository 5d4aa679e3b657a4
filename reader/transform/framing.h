// A frame while the geometric steps of a pipeline (steps/) are applied to it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include <sluice/transform.h>

#include "format/random.h"
#include "reader/transform/frame.h"
#include "reader/transform/step.h"

namespace sluice {

class Framing {
 public:
  Framing(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
          std::uint64_t position) noexcept
      : draw_seed_(draw_seed), position_(position) {
    frame_.region = Region::Whole(width, height);
  }
  void Apply(const Transform& step);
  const Frame& frame() const noexcept { return frame_; }

  // For the steps. The size of the result so far:
  std::uint32_t width() const noexcept { return frame_.region.width(); }
  std::uint32_t height() const noexcept { return frame_.region.height(); }
  // A step's own draws, by its kDraws and the number of its type before it.
  template <class Step>
  RandomStream Draws(const Step&) noexcept {
    static_assert(StepOf<Step>::kDraws < kMostKinds);
    return DrawsOf(StepOf<Step>::kDraws);
  }
  void Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  // The same, but the filter must not see pixels outside, as if the picture ended there.
  void Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  void ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept;
  void SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept;
  void Mirror(bool across) noexcept;
  void Transpose() noexcept;
  // Adds a second pass, which maps the result so far.
  void Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept;

 private:
  static constexpr std::uint16_t kMostKinds = 16;
  RandomStream DrawsOf(std::uint16_t kind) noexcept;
  // The axes of the result so far.
  Span& Across() noexcept { return frame_.region.transpose ? frame_.region.y : frame_.region.x; }
  Span& Down() noexcept { return frame_.region.transpose ? frame_.region.x : frame_.region.y; }

  Frame frame_;
  std::uint64_t draw_seed_;
  std::uint64_t position_;
  std::uint16_t uses_[kMostKinds] = {};  // steps of each kind so far
};

// The defaults of a geometric step's declaration. Its program is Take(step, framing). The size of
// the result must not depend on draws. A step draws only if it declares kDraws; unless it turns or
// warps, it then counts as one that shows another part of the picture each time. All else that a
// step may do to the frame it has to declare: a test calls Take() to hold each step to that.
struct GeometricStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kGeometric;
  static constexpr const char* kRuns = "fused with decoding";
  static constexpr bool kResizes = false;     // then it cannot follow a border
  static constexpr bool kTurns = false;       // only mirrors and turns: then it can follow any step
  static constexpr bool kSwapsSides = false;  // may swap width and height: then they must be equal
  static constexpr bool kWarps = false;       // adds a second pass; a pipeline can have one
  // Whether it may add a border to pictures of size `from`, if that is known.
  static bool MayPad(const auto&, const std::optional<PictureExtent>&) { return false; }

 protected:
  static bool Holds(const std::optional<PictureExtent>& picture, std::uint32_t width,
                    std::uint32_t height) {
    return picture && picture->width >= width && picture->height >= height;
  }
};

// The affine map of a RandomAffine's draws, for a picture of width x height pixels: degrees
// clockwise, a shift in pixels, a scale, and shears in degrees, all about the centre.
AffineMap AffineAbout(std::uint32_t width, std::uint32_t height, double degrees, double shift_x,
                      double shift_y, double scale, double shear_x, double shear_y) noexcept;

}  // namespace sluice
