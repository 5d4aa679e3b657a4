// The entropy-coded part of a scan, cut at its restart markers, and which of the pieces a region
// needs.
#pragma once

#include <cstdint>
#include <vector>

#include "format/disk/bytes.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// The number of zeros after the bytes of a segment. The longest coded MCU has fewer bytes (it has
// six blocks of 64 symbols of 26 bits), so a decoder that checks its position after every MCU never
// leaves the buffer.
inline constexpr std::size_t kSegmentPadding = 1312;

// The entropy-coded part of a scan, cut at its restart markers (T.81, B.1.1.5 and F.1.2.3).
class Segments {
 public:
  explicit Segments(Bytes scan = {}) noexcept : scan_(scan) {}

  // Moves to segment `number`, counted from 0; it must not lie before the one read last. Looks only
  // at markers. False if the scan ends first or a restart marker is not the expected one.
  bool Seek(std::uint32_t number) noexcept;

  // Copies the current segment, without its stuffed zeros, into `bytes` and adds kSegmentPadding
  // zeros. Returns its length without them. Call it once for each segment.
  std::size_t Read(std::vector<std::uint8_t>& bytes);

  // Whether nothing but an end-of-image marker follows the segment that was read.
  bool AtFileEnd() const noexcept;

 private:
  // The position of the 0xFF of the next marker at or after `at`; scan_.size() without a marker.
  std::size_t FindMarker(std::size_t at) const noexcept;

  Bytes scan_;
  std::size_t at_ = 0;  // where segment number_ begins
  std::uint32_t number_ = 0;
};

// A segment that a region needs. MCUs are counted in scan order.
struct WantedSegment {
  std::uint32_t number = 0;                   // among all segments
  std::uint32_t first_mcu = 0, last_mcu = 0;  // those to decode: [first, last)
  bool whole = false;                         // whether these reach the segment's end
};

// The segments of a scan, between its restart markers, that a region needs.
class WantedSegments {
 public:
  // The segments that touch the job's window, each up to its last wanted MCU; with `all`, all
  // segments of a picture of `mcus` MCUs. `interval`: MCUs of a segment.
  WantedSegments(const kernels::SegmentJob& job, std::uint64_t mcus, std::uint64_t interval,
                 bool all) noexcept;

  // Gives the next segment, in order. False after the last one.
  bool Next(WantedSegment& segment) noexcept;

  // An upper bound of the number of segments.
  std::uint64_t count() const noexcept { return end_ - begin_; }

 private:
  std::uint64_t WantedEnd(std::uint64_t begin, std::uint64_t end) const noexcept;

  const kernels::SegmentJob& job_;
  std::uint64_t mcus_, interval_;
  bool all_;
  std::uint64_t begin_ = 0, end_ = 0;  // the segments to look at: [begin, end)
  std::uint64_t next_ = 0;
};

}  // namespace sluice::baseline
