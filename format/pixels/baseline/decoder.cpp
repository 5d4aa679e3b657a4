#include "format/pixels/baseline/decoder.h"

#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

void Decoder::LayOut(const McuWindow& window, kernels::SegmentJob& job) {
  job.left = window.left;
  job.top = window.top;
  job.right = window.right;
  job.bottom = window.bottom;
  for (std::uint32_t c = 0; c < job.components; ++c) {
    const ComponentWindow& part = window.component[c];
    ColumnPlane& plane = planes_[c];
    plane.x = part.x;
    plane.y = part.y;
    plane.left = part.left;
    plane.top = part.top;
    plane.stride = AlignUp(std::size_t{part.height}, 32) + 32;
    MakeRoom(plane.stride * part.width + kernels::kSlack, samples_[c]);
    plane.data = samples_[c].data();
    kernels::ComponentJob& to = job.component[c];
    to.plane = samples_[c].data();
    to.stride = plane.stride;
    to.size_log2 = part.size_log2;
  }
}

bool Decoder::Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
                     const DecodePolicy& policy) {
  if (!scan_.Begin(file) || scan_.header().width != width || scan_.header().height != height)
    return false;
  kernels::SegmentJob job;
  scan_.Describe(job);
  LayOut(McuWindow(scan_.header(), region, policy), job);
  return scan_.Decode(policy.whole_file, job);
}

}  // namespace sluice::baseline
