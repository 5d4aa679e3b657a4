#include "format/pixels/baseline/wanted_segments.h"

#include <algorithm>

namespace sluice::baseline {

WantedSegments::WantedSegments(const kernels::SegmentJob& job, std::uint64_t mcus,
                               std::uint64_t interval, bool all) noexcept
    : job_(job), mcus_(mcus), interval_(interval), all_(all) {
  const std::uint64_t across = job.mcus_across;
  const std::uint64_t last_mcu = all ? mcus : (job.bottom - 1) * across + job.right;
  begin_ = next_ = all ? 0 : (job.top * across + job.left) / interval;
  end_ = (last_mcu + interval - 1) / interval;
}

// The end of the MCUs of the segment [begin, end) that lie in the window: one past the last of
// them, or `begin` if there is none.
std::uint64_t WantedSegments::WantedEnd(std::uint64_t begin, std::uint64_t end) const noexcept {
  const std::uint64_t across = job_.mcus_across;
  // Starts at the last row that the segment reaches into.
  std::uint64_t row = std::min<std::uint64_t>((end - 1) / across, job_.bottom - 1);
  if (row * across + job_.left >= end) {
    if (row == 0) return begin;
    --row;
  }
  if (row < job_.top) return begin;
  return std::max(begin, std::min(row * across + job_.right, end));
}

bool WantedSegments::Next(WantedSegment& segment) noexcept {
  while (next_ < end_) {
    const std::uint64_t number = next_++;
    const std::uint64_t begin = number * interval_;
    const std::uint64_t end = std::min(begin + interval_, mcus_);
    const std::uint64_t stop = all_ ? end : WantedEnd(begin, end);
    if (stop == begin) continue;
    segment = {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(begin),
               static_cast<std::uint32_t>(stop), stop == end};
    return true;
  }
  return false;
}

}  // namespace sluice::baseline
