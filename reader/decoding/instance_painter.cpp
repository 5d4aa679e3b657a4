// An outline stays points until here: its corners are mapped from the picture to the row, and only
// then is it filled. Runs have no corners, so they are painted as a mask of the picture's size,
// which goes through the frame as every mask does. The result is runs in both cases, a few
// kilobytes for an object of any form. A caller that needs pixels paints them from these.
#include "reader/decoding/instance_painter.h"

namespace sluice {

Defect InstancePainter::Paint(const Instances& instances, const Frame& frame, const PointMap& map,
                              std::span<const std::uint8_t> kept, std::uint64_t max_bytes,
                              std::vector<std::byte>& value) {
  const std::uint32_t width = frame.width(), height = frame.height();
  border_.clear();
  if (frame.warped || frame.region.bordered()) {
    border_.resize(std::size_t{width} * height);
    VisiblePart(frame).WriteBorder(border_.data());
  }
  builder_ = {};
  shown_masks_.assign(instances.size(), {});
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (kept[i] == 0) continue;
    runs_.clear();
    Defect defect = nullptr;
    bool drawn = false;
    instances.ForEachShape(i, [&](const InstanceShape& shape) {
      drawn = drawn || shape.count() > 0;
      if (shape.runs)
        AddRuns(shape, frame, map);
      else if (const Defect found = AddOutline(shape, map))
        defect = found;
    });
    if (defect != nullptr) return defect;
    JoinRuns(runs_);
    if (!border_.empty()) CutOffBorder(width, height);
    shown_masks_[i] = MaskOf(runs_, height);
    shown_masks_[i].drawn = drawn;
    builder_.BeginObject();
    builder_.AddRuns(RunLengths(runs_, std::uint64_t{width} * height));
    if (builder_.bytes() > max_bytes) return kLongOutlines;
  }
  builder_.Finish(value);
  return nullptr;
}

Defect InstancePainter::AddOutline(const InstanceShape& shape, const PointMap& map) {
  corners_.clear();
  for (std::size_t i = 0; i + 2 <= shape.count(); i += 2) {
    const double x = shape.corner(i);
    const double y = shape.corner(i + 1);
    // A perspective can take a corner behind the viewer. Such an outline is left out.
    if (!map.map.affine() && !(map.map.W(x, y) > 0)) return nullptr;
    corners_.push_back(map.map.X(x, y));
    corners_.push_back(map.map.Y(x, y));
  }
  if (corners_.empty()) return nullptr;
  return AppendRuns(corners_, map.target_width, map.target_height, runs_)
             ? nullptr
             : "an outline is too long for the size of its image";
}

void InstancePainter::AddRuns(const InstanceShape& shape, const Frame& frame, const PointMap& map) {
  whole_.assign(std::size_t{map.width} * map.height, 0);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < shape.count(); ++i) {
    const std::uint64_t end = at + shape.run(i);
    for (; at < end && i % 2 == 1; ++at)
      whole_[at % map.height * map.width + at / map.height] = 1;
    at = end;
  }
  const MaskView mask{whole_.data(), map.width, map.height, 1, 1, 0};
  in_row_.resize(std::size_t{map.target_width} * map.target_height);
  painter_.PaintMask(
      [&](const Region& region, std::uint8_t* data, bool keeps_border) {
        nearest_.Sample(mask, region, PixelOrder::kInterleaved, data, keeps_border);
      },
      frame, 1, 0, {in_row_.data(), 1, PixelOrder::kInterleaved});
  for (std::uint64_t x = 0, begin = 0; x < map.target_width; ++x) {
    for (std::uint64_t y = 0; y < map.target_height; ++y) {
      if (in_row_[y * map.target_width + x] == 0) continue;
      for (begin = y; y < map.target_height && in_row_[y * map.target_width + x] != 0;)
        ++y;
      runs_.push_back({x * map.target_height + begin, x * map.target_height + y});
    }
  }
}

void InstancePainter::CutOffBorder(std::uint32_t width, std::uint32_t height) {
  const auto hidden = [&](std::uint64_t at) {
    return border_[at % height * width + at / height] != 0;
  };
  shown_.clear();
  for (const PixelRun& run : runs_) {
    for (std::uint64_t at = run.begin; at < run.end;) {
      const bool left_out = hidden(at);
      const std::uint64_t begin = at;
      while (at < run.end && hidden(at) == left_out)
        ++at;
      if (!left_out) shown_.push_back({begin, at});
    }
  }
  runs_.swap(shown_);
}

}  // namespace sluice
