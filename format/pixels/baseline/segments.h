// The entropy-coded part of a scan, cut at its restart markers (T.81, B.1.1.5 and F.1.2.3).
#pragma once

#include <cstdint>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice::baseline {

// Zeros behind the bytes of a segment. They are more than the longest coded MCU (six blocks of 64
// symbols of 26 bits), so a decoder that checks its position after every MCU never leaves the
// buffer.
inline constexpr std::size_t kSegmentPadding = 1312;

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
  // The next marker at or behind `at`: the position of its 0xFF; scan_.size() if there is none.
  std::size_t FindMarker(std::size_t at) const noexcept;

  Bytes scan_;
  std::size_t at_ = 0;  // where segment number_ begins
  std::uint32_t number_ = 0;
};

}  // namespace sluice::baseline
