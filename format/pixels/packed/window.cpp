#include "format/pixels/packed/window.h"

namespace sluice::packed {

BlockWindow WindowOf(const Header& header, std::uint32_t component, const Region& region,
                     const DecodePolicy& policy) noexcept {
  const Component& of = header.component[component];
  const std::uint32_t fx = header.max_h / of.h;
  const std::uint32_t fy = header.max_v / of.v;
  const std::uint32_t log2 = ReductionLog2(region, fx, fy, policy.samples_per_pixel);
  const auto reduced = [log2](std::uint32_t size) { return ((size - 1) >> log2) + 1; };
  BlockWindow window;
  window.x = MakeComponentAxis(region.x, fx << log2, reduced(of.width), region.filter);
  window.y = MakeComponentAxis(region.y, fy << log2, reduced(of.height), region.filter);
  window.size_log2 = 3 - log2;
  const std::uint32_t side = 1U << window.size_log2;
  window.left = window.x.first / side;
  window.right = (window.x.last - 1) / side + 1;
  window.top = window.y.first / side;
  window.bottom = (window.y.last - 1) / side + 1;
  return window;
}

}  // namespace sluice::packed
