#include "reader/transform/visible_part.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

VisiblePart::VisiblePart(const Frame& frame)
    : width_(frame.region.width()), height_(frame.region.height()), warped_(frame.warped) {
  const Region& region = frame.region;
  const auto axis = [](const Span& span, bool mirrored, std::uint32_t& begin, std::uint32_t& end) {
    begin = mirrored ? span.target - span.at - span.out : span.at;
    end = begin + span.out;
  };
  axis(region.x, region.flip, left_, right_);
  axis(region.y, region.flip_y, top_, bottom_);
  if (region.transpose) {
    std::swap(left_, top_);
    std::swap(right_, bottom_);
  }
  if (warped_) to_source_ = frame.warp.Inverse();
}

void VisiblePart::WriteBorder(std::uint8_t* map) const {
  constexpr std::uint8_t kBorder = 1;
  std::fill_n(map, std::size_t{width_} * height_, kBorder);
  if (left_ == right_) return;
  for (std::size_t y = top_; y < bottom_; ++y)
    std::fill(map + y * width_ + left_, map + y * width_ + right_, std::uint8_t{0});
  if (!warped_) return;
  const std::vector<std::uint8_t> before(map, map + std::size_t{width_} * height_);
  WarpRuns(before.data(), width_, height_, 1, to_source_, &kBorder, map);
}

}  // namespace sluice
