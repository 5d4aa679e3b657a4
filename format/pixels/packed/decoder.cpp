// WindowOf() turns a region into blocks of one component: whole blocks, so the plane begins at
// `left` and `top`, which may lie before the first sample that has weight. A line of blocks can be
// unpacked without the others. The kernel's room for masks and values is for a whole line, but it
// makes samples only of the blocks from left to right.
// Faults in lines that the region does not touch are found only with DecodePolicy::whole_file,
// which unpacks all of the payload first.
#include "format/pixels/packed/decoder.h"

#include <algorithm>

#include "format/pixels/kept_memory.h"
#include "format/pixels/packed/pack.h"

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

Defect Decoder::DecodeComponent(Bytes payload, std::uint32_t c, const Region& region,
                                const DecodePolicy& policy) {
  const Component& component = header_.component[c];
  const BlockWindow window = WindowOf(header_, c, region, policy);
  const std::uint32_t side = 1U << window.size_log2;
  ColumnPlane& plane = planes_[c];
  plane.x = window.x;
  plane.y = window.y;
  plane.left = window.left * side;
  plane.top = window.top * side;
  plane.stride = AlignUp(std::size_t{window.bottom - window.top} * side, 32) + 32;
  MakeRoom(plane.stride * (std::size_t{window.right - window.left} * side) + kernels::kSlack,
           samples_[c]);
  plane.data = samples_[c].data();

  kernels::PackedLineJob job;
  job.left = window.left;
  job.right = window.right;
  std::int16_t quant[64];
  std::copy_n(header_.table[component.table], 64, quant);
  MakeRoom(component.across, masks_);
  MakeRoom(component.across + 1, starts_);
  MakeRoom(std::size_t{component.across} * 64 + kernels::kSlack, values_);
  job.blocks = component.across;
  job.quant = quant;
  job.stride = plane.stride;
  job.size_log2 = window.size_log2;
  job.masks = masks_.data();
  job.starts = starts_.data();
  job.values = values_.data();
  for (std::uint32_t y = window.top; y < window.bottom; ++y) {
    const Bytes line = LineOf(payload, header_, component.first_line + y);
    job.bytes = reinterpret_cast<const std::uint8_t*>(line.data());
    job.size = line.size();
    job.plane = samples_[c].data() + std::size_t{y - window.top} * side;
    if (!set_.unpack_line(job)) return "a row of the packed image contradicts itself";
  }
  return nullptr;
}

Defect Decoder::Decode(const ImagePayload& payload, std::uint32_t channels, const Region& region,
                       const DecodePolicy& policy) {
  if (const Defect defect = ParseHeader(payload.bytes, header_)) return defect;
  if (header_.width != payload.width || header_.height != payload.height ||
      header_.components != payload.channels) {
    return "the packed image is of another size than the table says";
  }
  if (policy.whole_file) {
    Coefficients all;
    if (const Defect defect = Unpack(payload.bytes, all)) return defect;
  }
  const std::uint32_t wanted = channels == 1 ? 1 : header_.components;
  for (std::uint32_t c = 0; c < wanted; ++c) {
    if (const Defect defect = DecodeComponent(payload.bytes, c, region, policy)) return defect;
  }
  return nullptr;
}

}  // namespace sluice::packed
