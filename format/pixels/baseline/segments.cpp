#include "format/pixels/baseline/segments.h"

#include <algorithm>
#include <cstring>

namespace sluice::baseline {

namespace {
// The next 0xFF at or behind `at`, or the end.
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
  std::size_t size = 0;
  std::size_t at = at_;
  for (;;) {
    const std::size_t run_end = FindByte(scan_, at);
    const std::size_t needed = size + (run_end - at) + 1 + kSegmentPadding;
    if (bytes.size() < needed) bytes.resize(std::max(needed, 2 * bytes.size()));
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

}  // namespace sluice::baseline
