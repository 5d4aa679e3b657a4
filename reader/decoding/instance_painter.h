// Makes the instances that a row shows: of each object that is kept, its pixels in the row, as
// runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sluice/instances.h>

#include "format/pixels/nearest.h"
#include "format/pixels/outline.h"
#include "reader/decoding/picture_painter.h"
#include "reader/transform/annotations.h"

namespace sluice {

// Why a row cannot be made of objects whose runs take more than they may.
inline constexpr Defect kLongOutlines =
    "its objects' outlines are longer than any real ones, so their runs take more memory than the "
    "loader's bound";

// Keeps its buffers from row to row. One thread at a time.
class InstancePainter {
 public:
  // `instances`: opened for a picture of the size that `map` was made for. An outline covers what
  // pycocotools gives for its mapped corners; runs are sampled as a mask is, by the nearest pixel.
  // Pixels of the row's border belong to no object. `kept`: by object. Returns why a row cannot be
  // made, or null; `max_bytes` is the most that the value may have.
  Defect Paint(const Instances& instances, const Frame& frame, const PointMap& map,
               std::span<const std::uint8_t> kept, std::uint64_t max_bytes,
               std::vector<std::byte>& value);
  // By object, the part that the row shows of those that Paint() has painted last.
  std::span<const ShownMask> shown() const noexcept { return shown_masks_; }

  // Bytes of memory that it takes at most, for a picture and a row of so many pixels: an object's
  // runs painted whole, and in the row; the row's border; before a warp, both once more.
  static std::uint64_t MemoryBytes(std::uint64_t picture_pixels,
                                   std::uint64_t row_pixels) noexcept {
    return 2 * picture_pixels + 4 * row_pixels;
  }

 private:
  Defect AddOutline(const InstanceShape& shape, const PointMap& map);
  void AddRuns(const InstanceShape& shape, const Frame& frame, const PointMap& map);
  void CutOffBorder(std::uint32_t width, std::uint32_t height);

  std::vector<double> corners_;
  std::vector<std::uint8_t> whole_, in_row_, border_;
  std::vector<PixelRun> runs_, shown_;
  std::vector<ShownMask> shown_masks_;
  NearestSampler nearest_;
  ViewPainter painter_;
  InstancesBuilder builder_;
};

}  // namespace sluice
