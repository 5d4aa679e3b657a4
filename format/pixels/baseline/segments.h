// The entropy-coded part of a scan, cut at its restart markers (T.81, B.1.1.5 and F.1.2.3).
#pragma once

#include <cstdint>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice::baseline {

// Zeros behind the bytes of a segment: more than the longest MCU can be coded in (six blocks of 64
// symbols of 26 bits), so that a decoder which checks its position after every MCU never leaves the
// buffer.
inline constexpr std::size_t kSegmentPadding = 1312;

class Segments {
 public:
  explicit Segments(Bytes scan) noexcept : scan_(scan) {}

  // Moves to segment `number` (counted from 0, not before the one last read). Looks at markers
  // only. False if the scan ends first or a restart marker is not the one that is due.
  bool Seek(std::uint32_t number) noexcept;

  // Copies the segment in hand without its stuffed zeros into `bytes`, kSegmentPadding zeros behind
  // it. Returns its length. Once for each segment.
  std::size_t Read(std::vector<std::uint8_t>& bytes);

 private:
  // The next marker at or behind `at`: the position of its 0xFF; scan_.size() if there is none.
  std::size_t FindMarker(std::size_t at) const noexcept;

  Bytes scan_;
  std::size_t at_ = 0;  // where segment number_ begins
  std::uint32_t number_ = 0;
};

}  // namespace sluice::baseline
