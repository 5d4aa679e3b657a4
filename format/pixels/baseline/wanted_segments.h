// The segments of a scan, between its restart markers, that a region needs.
#pragma once

#include <cstdint>

#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// MCUs are counted in scan order.
struct WantedSegment {
  std::uint32_t number = 0;                   // among all segments
  std::uint32_t first_mcu = 0, last_mcu = 0;  // those to decode: [first, last)
  bool whole = false;                         // to the segment's end
};

class WantedSegments {
 public:
  // Those that touch the job's window, each as far as that; all of a picture of `mcus` with `all`.
  // `interval`: MCUs of a segment.
  WantedSegments(const kernels::SegmentJob& job, std::uint64_t mcus, std::uint64_t interval,
                 bool all) noexcept;

  // The next one, in order. False if there is none.
  bool Next(WantedSegment& segment) noexcept;

  // No fewer than there are in all.
  std::uint64_t count() const noexcept { return end_ - begin_; }

 private:
  std::uint64_t WantedEnd(std::uint64_t begin, std::uint64_t end) const noexcept;

  const kernels::SegmentJob& job_;
  std::uint64_t mcus_, interval_;
  bool all_;
  std::uint64_t begin_ = 0, end_ = 0;  // segments that are looked at
  std::uint64_t next_ = 0;
};

}  // namespace sluice::baseline
