// Each geometric step on its own: which parameters it takes, and what it does to a frame.
#pragma once

#include <cstdint>

#include <sluice/transform.h>

#include "format/random.h"
#include "reader/transform/frame.h"

namespace sluice {

// A frame while the steps of a pipeline are applied to it.
class Framing {
 public:
  Framing(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
          std::uint64_t position) noexcept
      : draw_seed_(draw_seed), position_(position) {
    frame_.region = Region::Whole(width, height);
  }
  void Apply(const Transform& step);
  const Frame& frame() const noexcept { return frame_; }

 private:
  // Kinds of operation, part of every draw's counter: never changed, so that draws stay what they
  // were.
  enum class Operation : std::uint16_t {
    kRandomResizedCrop = 1,
    kRandomCrop = 2,
    kHorizontalFlip = 3,
    kVerticalFlip = 4,
    kRandomQuarterTurns = 5,
    kRandomTranslate = 6,
    kRandomAffine = 7,
  };
  RandomStream Draws(Operation operation) noexcept;

  void Take(const RandomResizedCrop& op);
  void Take(const Resize& op);
  void Take(const ResizeShortSide& op);
  void Take(const CenterCrop& op);
  void Take(const CenterResizedCrop& op);
  void Take(const RandomCrop& op);
  void Take(const RandomTranslate& op);
  void Take(const HorizontalFlip& op);
  void Take(const VerticalFlip& op);
  void Take(const RandomQuarterTurns& op);
  void Take(const RandomAffine& op);

  // As what has come out so far is seen.
  Span& Across() noexcept { return frame_.region.transpose ? frame_.region.y : frame_.region.x; }
  Span& Down() noexcept { return frame_.region.transpose ? frame_.region.x : frame_.region.y; }
  void Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  // The same where what lies around must not be seen, as if the picture had been cut there.
  void Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height);
  void ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept;
  void SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept;
  void Mirror(bool across) noexcept;
  void Transpose() noexcept;

  Frame frame_;
  std::uint64_t draw_seed_;
  std::uint64_t position_;
  std::uint16_t uses_[8] = {};  // of each operation so far
};

// Throws Error(kInvalidArgument) for parameters out of range. Nothing for other steps.
void CheckGeometricStep(const Transform& step);

// Where the matrix takes a picture of width x height pixels, for what a RandomAffine has drawn:
// degrees clockwise, a shift in pixels, scale, and shears in degrees, all about the centre.
AffineMap AffineAbout(std::uint32_t width, std::uint32_t height, double degrees, double shift_x,
                      double shift_y, double scale, double shear_x, double shear_y) noexcept;

}  // namespace sluice
