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

  // For the steps. Of what has come out so far:
  std::uint32_t width() const noexcept { return frame_.region.width(); }
  std::uint32_t height() const noexcept { return frame_.region.height(); }
  // A step's own, by its kind and how many of that kind came before.
  RandomStream Draws(std::uint16_t kind) noexcept;
  void Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  // The same where what lies around must not be seen, as if the picture had been cut there.
  void Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  void ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept;
  void SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept;
  void Mirror(bool across) noexcept;
  void Transpose() noexcept;
  // A second pass, by a map of what has come out so far.
  void Warp(const AffineMap& map, const std::array<std::uint8_t, 3>& fill) noexcept;

 private:
  // As what has come out so far is seen.
  Span& Across() noexcept { return frame_.region.transpose ? frame_.region.y : frame_.region.x; }
  Span& Down() noexcept { return frame_.region.transpose ? frame_.region.x : frame_.region.y; }

  Frame frame_;
  std::uint64_t draw_seed_;
  std::uint64_t position_;
  std::uint16_t uses_[16] = {};  // of each kind of step so far
};

// What a geometric step's declaration has unless it says otherwise. Its program is
// Take(step, framing).
struct GeometricStep : AnyStep {
  static constexpr StepKind kKind = StepKind::kGeometric;
  static constexpr const char* kRuns = "fused with decoding";
  static constexpr bool kResizes = false;  // cannot follow a border
  static constexpr bool kTurns = false;    // can follow anything
  // Whether it may add a border to pictures that are `from`, if that is known.
  static bool MayPad(const auto&, const std::optional<PictureExtent>&) { return false; }

 protected:
  static bool Holds(const std::optional<PictureExtent>& picture, std::uint32_t width,
                    std::uint32_t height) {
    return picture && picture->width >= width && picture->height >= height;
  }
};

// Where the matrix takes a picture of width x height pixels, for what a RandomAffine has drawn:
// degrees clockwise, a shift in pixels, scale, and shears in degrees, all about the centre.
AffineMap AffineAbout(std::uint32_t width, std::uint32_t height, double degrees, double shift_x,
                      double shift_y, double scale, double shear_x, double shear_y) noexcept;

}  // namespace sluice
