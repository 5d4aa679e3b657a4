// The part of a picture that a view shows: a region of it, turned and perhaps warped (Frame); how
// geometric steps make a frame, one after the other (Framing); and which pixels of the result are
// border (VisiblePart).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include <sluice/transform.h>

#include "format/pixels/decode.h"
#include "format/pixels/steps/steps.h"
#include "format/random.h"
#include "reader/transform/step.h"

namespace sluice {

// Width and height of a picture, in pixels.
struct PictureExtent {
  std::uint32_t width = 0, height = 0;
  friend bool operator==(const PictureExtent&, const PictureExtent&) = default;
};

// The result of a pipeline's geometric steps: which part of a picture a sample shows, and how.
struct Frame {
  Region region;  // decoded and resampled in one pass
  // Whether there is a second pass. It maps the region's target, in pixels, to a grid of the same
  // size, by `warp`.
  bool warped = false;
  AffineMap warp;
  std::array<std::uint8_t, 3> warp_fill = {0, 0, 0};
  friend bool operator==(const Frame&, const Frame&) = default;
};

// A frame while the geometric steps of a pipeline (steps/) are applied to it.
class Framing {
 public:
  Framing(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
          std::uint64_t position) noexcept
      : draw_seed_(draw_seed), position_(position) {
    frame_.region = Region::Whole(width, height);
  }
  void Apply(const Transform& step);
  const Frame& frame() const noexcept { return frame_; }

  // The functions below are for the steps. width() and height() are the size of the result so far.
  std::uint32_t width() const noexcept { return frame_.region.width(); }
  std::uint32_t height() const noexcept { return frame_.region.height(); }
  // A step's own random stream, chosen by its kDraws and by the number of earlier steps of its
  // type.
  template <class Step>
  RandomStream Draws(const Step&) noexcept {
    static_assert(StepOf<Step>::kDraws < kMaxKinds);
    return DrawsOf(StepOf<Step>::kDraws);
  }
  void Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  // Like Crop(), but the filter does not see pixels outside the crop, as if the picture ended at
  // the crop's edges.
  void Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  void ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept;
  void SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept;
  void Mirror(bool across) noexcept;
  void Transpose() noexcept;
  // Adds a second pass, which maps the result so far.
  void Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept;

 private:
  static constexpr std::uint16_t kMaxKinds = 16;
  RandomStream DrawsOf(std::uint16_t kind) noexcept;
  // The axes of the result so far.
  Span& Across() noexcept { return frame_.region.transpose ? frame_.region.y : frame_.region.x; }
  Span& Down() noexcept { return frame_.region.transpose ? frame_.region.x : frame_.region.y; }

  Frame frame_;
  std::uint64_t draw_seed_;
  std::uint64_t position_;
  std::uint16_t uses_[kMaxKinds] = {};  // steps of each kind so far
};

// The defaults of a geometric step's declaration. The step's function Take(step, framing) does the
// work. The size of the result must not depend on draws. A step that draws must declare kDraws;
// unless it turns or warps, it counts as a step that shows a different part of the picture each
// time. Everything else that a step may do to the frame is declared by the constants below; a test
// calls Take() to check that each step keeps to its declaration.
struct GeometricStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kGeometric;
  static constexpr const char* kRuns = "fused with decoding";
  static constexpr bool kResizes = false;  // cannot follow a step that may add a border
  static constexpr bool kTurns = false;  // only mirrors and turns; such a step can follow any other
  static constexpr bool kSwapsSides = false;  // may swap width and height, so these must be equal
  static constexpr bool kWarps = false;       // adds a second pass; a pipeline can have one
  // Whether the step may add a border to a picture of that size; nullopt: the size is unknown.
  static bool MayPad(const auto&, const std::optional<PictureExtent>&) { return false; }

 protected:
  static bool Holds(const std::optional<PictureExtent>& picture, std::uint32_t width,
                    std::uint32_t height) {
    return picture && picture->width >= width && picture->height >= height;
  }
};

// The affine map of a RandomAffine's draws, for a picture of width x height pixels: degrees
// clockwise, a shift in pixels, a scale, and shears in degrees, all about the centre.
struct AffineParameters {
  double degrees = 0, shift_x = 0, shift_y = 0, scale = 1, shear_x = 0, shear_y = 0;
};
AffineMap AffineAbout(std::uint32_t width, std::uint32_t height,
                      const AffineParameters& drawn) noexcept;

// Which pixels of a frame's target show its picture, and which are border.
class VisiblePart {
 public:
  // Nothing but border.
  VisiblePart() = default;
  VisiblePart(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {}
  // The visible part of the frame's target. It is the same for a mask that follows the picture,
  // whatever the mask's size.
  explicit VisiblePart(const Frame& frame);

  // Writes width x height bytes: 1 for a pixel of the border, where a mask gets its fill (or its
  // own mirrored pixels), and 0 for a pixel of the picture.
  void WriteBorder(std::uint8_t* map) const;

 private:
  std::uint32_t width_ = 0, height_ = 0;                       // of the target
  std::uint32_t left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;  // the part, before a warp
  bool warped_ = false;
  AffineMap to_source_;  // the map of the warp, from target to source
};

}  // namespace sluice
