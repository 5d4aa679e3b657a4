// Restart markers are the only places in a scan that can be found without decoding it: 0xFF
// followed by a zero is data, 0xFF followed by another 0xFF is a fill byte, and all else is a
// marker.
// Segments only moves forward. The end of a segment is not known before Read(), which moves there:
// so it may be called once for each segment, and AtFileEnd() means something only after it.
// A segment may span several lines of MCUs. WantedEnd() therefore looks for the last row in which
// the segment touches the window.
#include "format/pixels/baseline/segments.h"

#include <algorithm>
#include <cstring>

namespace sluice::baseline {

namespace {
// The next 0xFF at or after `at`, or the end.
std::size_t FindByte(Bytes bytes, std::size_t at) noexcept {
  const void* const found = std::memchr(bytes.data() + at, 0xFF, bytes.size() - at);
  if (found == nullptr) return bytes.size();
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
}
}  // namespace

std::size_t Segments::FindMarker(std::size_t at) const noexcept {
  while (at < scan_.size()) {
    at = FindByte(scan_, at);
    if (at + 1 >= scan_.size()) return scan_.size();
    const std::byte next = scan_[at + 1];
    if (next == std::byte{0}) {
      at += 2;
    } else if (next == std::byte{0xFF}) {
      ++at;  // a fill byte
    } else {
      return at;
    }
  }
  return scan_.size();
}

bool Segments::Seek(std::uint32_t number) noexcept {
  while (number_ < number) {
    const std::size_t marker = FindMarker(at_);
    if (marker >= scan_.size()) return false;
    if (scan_[marker + 1] != std::byte(0xD0 + number_ % 8)) return false;
    at_ = marker + 2;
    ++number_;
  }
  return true;
}

bool Segments::AtFileEnd() const noexcept {
  return scan_.size() - at_ == 2 && scan_[at_] == std::byte{0xFF} &&
         scan_[at_ + 1] == std::byte{0xD9};
}

std::size_t Segments::Read(std::vector<std::uint8_t>& bytes) {
  const std::size_t most = scan_.size() - at_ + 1 + kSegmentPadding;
  std::size_t size = 0;
  std::size_t at = at_;
  for (;;) {
    const std::size_t run_end = FindByte(scan_, at);
    const std::size_t needed = size + (run_end - at) + 1 + kSegmentPadding;
    if (bytes.size() < needed) {
      // Doubles the room, but not beyond the most that can be needed, as resize() alone would.
      bytes.reserve(std::max(needed, std::min(most, 2 * bytes.size())));
      bytes.resize(bytes.capacity());
    }
    std::memcpy(bytes.data() + size, scan_.data() + at, run_end - at);
    size += run_end - at;
    at = run_end;
    if (at + 1 >= scan_.size() || scan_[at + 1] != std::byte{0}) break;
    bytes[size++] = 0xFF;
    at += 2;
  }
  std::memset(bytes.data() + size, 0, kSegmentPadding);
  at_ = at;
  return size;
}

WantedSegments::WantedSegments(const kernels::SegmentJob& job, std::uint64_t mcus,
                               std::uint64_t interval, bool all) noexcept
    : job_(job), mcus_(mcus), interval_(interval), all_(all) {
  const std::uint64_t across = job.mcus_across;
  const std::uint64_t last_mcu = all ? mcus : (job.bottom - 1) * across + job.right;
  begin_ = next_ = all ? 0 : (job.top * across + job.left) / interval;
  end_ = (last_mcu + interval - 1) / interval;
}

// One past the last MCU of the segment [begin, end) that lies in the window; `begin` if no MCU of
// the segment does.
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
