#include "format/pixels/baseline/mcu_window.h"

#include <algorithm>

namespace sluice::baseline {

McuWindow::McuWindow(const Header& header, const Region& whole, const DecodePolicy& policy) noexcept
    : left(header.mcus_across), top(header.mcus_down) {
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& of = header.component[c];
    const Region region = RegionOf(whole, c, policy);
    const std::uint32_t fx = header.max_h / of.h;
    const std::uint32_t fy = header.max_v / of.v;
    const std::uint32_t log2 = ReductionLog2(whole, fx, fy, policy.samples_per_pixel);
    const auto reduced = [log2](std::uint32_t size) { return ((size - 1) >> log2) + 1; };
    ComponentWindow& part = component[c];
    part.size_log2 = 3 - log2;
    part.x = MakeComponentAxis(region.x, fx << log2, reduced(of.width), region.filter);
    part.y = MakeComponentAxis(region.y, fy << log2, reduced(of.height), region.filter);
    const std::uint32_t across = (8U * of.h) >> log2;
    const std::uint32_t down = (8U * of.v) >> log2;
    left = std::min(left, part.x.first / across);
    right = std::max(right, (part.x.last - 1) / across + 1);
    top = std::min(top, part.y.first / down);
    bottom = std::max(bottom, (part.y.last - 1) / down + 1);
  }
  for (std::uint32_t c = 0; c < header.components; ++c) {
    ComponentWindow& part = component[c];
    const std::uint32_t across = std::uint32_t{header.component[c].h} << part.size_log2;
    const std::uint32_t down = std::uint32_t{header.component[c].v} << part.size_log2;
    part.left = left * across;
    part.top = top * down;
    part.width = (right - left) * across;
    part.height = (bottom - top) * down;
  }
}

}  // namespace sluice::baseline
