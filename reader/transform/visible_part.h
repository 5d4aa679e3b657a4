// Which pixels of a frame's target show its picture, and which are border.
#pragma once

#include <cstdint>

#include "reader/transform/frame.h"

namespace sluice {

class VisiblePart {
 public:
  // Nothing but border.
  VisiblePart() = default;
  VisiblePart(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {}
  // The visible part of the frame's target. It is the same for a mask that follows the picture,
  // whatever the mask's size.
  explicit VisiblePart(const Frame& frame);

  // width x height bytes: 1 where a mask gets its fill (or the picture mirrored), else 0.
  void WriteBorder(std::uint8_t* map) const;

 private:
  std::uint32_t width_ = 0, height_ = 0;                       // of the target
  std::uint32_t left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;  // the part, before a warp
  bool warped_ = false;
  AffineMap to_source_;  // the map of the warp, from target to source
};

}  // namespace sluice
