// The part of a picture that a view shows: a region of it, turned and perhaps warped (Frame); how
// geometric steps make a frame, one after the other (Framing); and which pixels of the result are
// border (VisiblePart).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

// The most parts of a row: a mosaic has so many.
inline constexpr std::uint16_t kMostParts = 4;

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const noexcept { return std::max(0.0, right - left) * std::max(0.0, bottom - top); }
  // The part of the box that lies in `at`. It has no area if the two lie apart.
  Box CutOff(const Box& at) const noexcept {
    return {std::clamp(left, at.left, at.right), std::clamp(top, at.top, at.bottom),
            std::clamp(right, at.left, at.right), std::clamp(bottom, at.top, at.bottom)};
  }
  friend bool operator==(const Box&, const Box&) = default;
};

// Along one axis: the interval [start, start + length) of the picture goes to [at, at + out) of the
// target, exactly. A Span has the same with `at` and `out` rounded to whole pixels.
struct ExactSpan {
  double start = 0, length = 0, at = 0, out = 0;
  friend bool operator==(const ExactSpan&, const ExactSpan&) = default;
};

// The result of a pipeline's geometric steps: which part of a picture a row shows, and how. It is
// one map from the picture to the row, and one rectangle of the row in which the picture shows; the
// rest of the row is border.
struct Frame {
  Region region;  // decoded and resampled in one pass
  // The region's spans before rounding, if their edges did not lie on whole pixels. Boxes and
  // points are moved by these; only pixels are rounded.
  std::optional<ExactSpan> exact_x, exact_y;
  // Whether there is a second pass. It maps the region's target, in pixels, to a grid of that size,
  // by `warp`. Pixels of the grid outside `shown` are border.
  bool warped = false;
  Projection warp;
  std::array<std::uint8_t, 3> warp_fill = {0, 0, 0};
  PictureExtent size;
  PixelRect shown;
  // Whether the region was chosen for the warp. (Otherwise steps made it, and the warp came next.)
  // Of what the steps before the warp show, `before_warp` in the picture, it is then only a part.
  bool region_for_warp = false;
  Box before_warp;

  // The row's size.
  std::uint32_t width() const noexcept { return warped ? size.width : region.width(); }
  std::uint32_t height() const noexcept { return warped ? size.height : region.height(); }
  // The map from the picture to the region's target. If nothing is shown, it maps every point to
  // one outside the target.
  AffineMap MapToTarget() const noexcept;
  // The part of the region's target that shows the picture; beyond the target, too, if the region
  // is only a part of what steps before the warp show.
  Box ShownInTarget() const noexcept;
  // The map from the picture to the row.
  Projection Map() const noexcept {
    const Projection before(MapToTarget());
    return warped ? warp * before : before;
  }
  friend bool operator==(const Frame&, const Frame&) = default;
};

// The boxes of a picture, in its pixels, for steps that look at them; and which of them such a step
// has dropped.
struct PictureBoxes {
  std::vector<Box> boxes;
  std::vector<std::uint8_t> dropped;  // by box
};

// Which size a step gives a result whose size it draws. The others than kDrawn are bounds: the
// widest result that is as wide as it can be (kMostWide) or as high as it cannot be less
// (kLeastWide), and the highest one likewise. Their ratio of width to height is at least (at most)
// that of any draw.
enum class DrawnSize : std::uint8_t { kDrawn, kMostWide, kMostHigh, kLeastWide, kLeastHigh };

// A frame while the geometric steps of a pipeline (steps/) are applied to it.
class Framing {
 public:
  // `boxes`: null if no step looks at boxes.
  // `part`: of the row, if it is a mosaic.
  Framing(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
          std::uint64_t position, PictureBoxes* boxes = nullptr,
          DrawnSize sizes = DrawnSize::kDrawn, std::uint16_t part = 0) noexcept
      : draw_seed_(draw_seed), position_(position), boxes_(boxes), sizes_(sizes), part_(part) {
    frame_.region = Region::Whole(width, height);
  }
  void Apply(const Transform& step);
  // After the last step: chooses the region for a warp that is not alone, and puts the part of a
  // mosaic where the steps after it show that part.
  void Finish();
  const Frame& frame() const noexcept { return frame_; }

  // The functions below are for the steps. width() and height() are the size of the result so far.
  std::uint32_t width() const noexcept { return frame_.width(); }
  std::uint32_t height() const noexcept { return frame_.height(); }
  // A step whose draws decide the size asks this first.
  DrawnSize sizes() const noexcept { return sizes_; }
  // The picture's boxes as the result so far shows them, without those that are out of sight or
  // dropped: each with its number.
  struct SeenBox {
    std::size_t number;
    Box box;
  };
  std::vector<SeenBox> Boxes() const;
  void Drop(std::size_t box) noexcept { boxes_->dropped[box] = 1; }
  // Which part of a mosaic the result shows.
  std::uint16_t part() const noexcept { return part_; }
  // From now on, draws are those of the whole row, the same for each of its parts.
  void DrawForRow() noexcept { draws_for_row_ = true; }
  // Makes the result so far a part of a canvas of its size. The steps that follow see the canvas as
  // the picture, and it has that border.
  void BeginCanvas(const std::array<std::uint8_t, 3>& fill) noexcept;
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
  // Adds a second pass, which maps the result so far and keeps its size.
  void Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept;
  // Maps the result so far to a grid of that size: by the region alone if the map neither turns nor
  // shears.
  void WarpTo(const Projection& map, const PictureExtent& size,
              const std::array<std::uint8_t, 3>& fill) noexcept;

 private:
  static constexpr std::uint16_t kMaxKinds = 16;
  // An axis of the result so far, before a warp. Spans are counted along the picture, and so from
  // the other end if mirrored.
  struct Axis {
    Span& span;
    std::optional<ExactSpan>& exact;
    bool mirrored;
  };
  RandomStream DrawsOf(std::uint16_t kind) noexcept;
  Axis Across() noexcept { return AxisOf(!frame_.region.transpose); }
  Axis Down() noexcept { return AxisOf(frame_.region.transpose); }
  Axis AxisOf(bool x) noexcept {
    return x ? Axis{frame_.region.x, frame_.exact_x, frame_.region.flip}
             : Axis{frame_.region.y, frame_.exact_y, frame_.region.flip_y};
  }
  // Maps what follows the warp: by scales and shifts to a grid of that size.
  void MoveWarped(double scale_x, double shift_x, double scale_y, double shift_y,
                  const PictureExtent& size) noexcept;
  void ChooseRegion() noexcept;
  void PlacePart() noexcept;
  void Hide() noexcept;

  Frame frame_;
  std::optional<Frame> in_canvas_;  // of a mosaic's part: where the canvas shows its picture
  std::uint64_t draw_seed_;
  std::uint64_t position_;
  PictureBoxes* boxes_;
  DrawnSize sizes_;
  std::uint16_t part_;
  bool draws_for_row_ = false;
  bool moved_after_warp_ = false;
  std::uint16_t uses_[kMaxKinds] = {};  // steps of each kind so far
};

// The defaults of a geometric step's declaration. The step's function Take(step, framing) does the
// work. If the size of the result depends on draws, the step declares kDrawsSize, and gives the
// least and the greatest size where Framing::sizes() asks for them. A step that draws must declare
// kDraws; unless it turns or warps, it counts as a step that shows a different part of the picture
// each time. Everything else that a step may do to the frame is declared by the constants below; a
// test calls Take() to check that each step keeps to its declaration.
struct GeometricStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kGeometric;
  static constexpr const char* kRuns = "fused with decoding";
  static constexpr bool kResizes = false;
  static constexpr bool kTurns = false;  // only mirrors and turns; such a step can follow any other
  static constexpr bool kSwapsSides = false;  // may swap width and height, so these must be equal
  static constexpr bool kWarps = false;       // adds a second pass
  static constexpr bool kDrawsSize = false;   // draws the size of its result
  static constexpr bool kNeedsBoxes = false;  // looks at the picture's boxes
  static constexpr bool kMosaic = false;      // the row shows parts of several samples
  // Whether the region depends on the warp that the step adds.
  static bool ChoosesRegion(const auto&) { return false; }
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

// Which pixels of a frame's row show its picture, and which are border.
class VisiblePart {
 public:
  // Nothing but border.
  VisiblePart() = default;
  VisiblePart(std::uint32_t width, std::uint32_t height)
      : width_(width), height_(height), target_width_(width), target_height_(height) {}
  // The visible part of the frame's row. It is the same for a mask that follows the picture,
  // whatever the mask's size.
  explicit VisiblePart(const Frame& frame);
  // One more part of the same row, if that is a mosaic.
  void Add(const Frame& frame) noexcept;

  // Writes width x height bytes: 1 for a pixel of the border, where a mask gets its fill (or its
  // own mirrored pixels), and 0 for a pixel of the picture.
  void WriteBorder(std::uint8_t* map) const;

 private:
  std::uint32_t width_ = 0, height_ = 0;                // of the row
  std::uint32_t target_width_ = 0, target_height_ = 0;  // before a warp
  std::array<PixelRect, kMostParts> parts_{};           // before a warp; empty ones show nothing
  PixelRect shown_;                                     // after it
  bool warped_ = false;
  Projection to_source_;  // the map of the warp, from row to target
};

// Notes what part `part` of a row shows.
inline void ShowPart(const Frame& frame, std::size_t part, VisiblePart& shown) {
  if (part == 0) {
    shown = VisiblePart(frame);
  } else {
    shown.Add(frame);
  }
}

}  // namespace sluice
