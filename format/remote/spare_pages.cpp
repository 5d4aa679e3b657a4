#include "format/remote/spare_pages.h"

#include <iterator>
#include <new>

#include <sys/mman.h>

namespace sluice {

// A range to which pages were moved is a mapping of its own, and so is one that they left. The
// kernel allows a process 65,530 of them, and joins fresh ones with what lies beside them.
void SparePages::Drop(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  std::byte* const at = mapping_ + offset;
  const bool fresh =
      bytes >= kLeast &&
      mmap(at, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
  madvise(at, bytes, fresh ? MADV_NOHUGEPAGE : MADV_DONTNEED);
}

void SparePages::Remove(Ranges::iterator range) {
  const auto [begin, end] = by_size_.equal_range(range->second);
  for (auto at = begin; at != end; ++at) {
    if (at->second != range->first) continue;
    by_size_.erase(at);
    break;
  }
  kept_ -= range->second;
  ranges_.erase(range);
}

// The smallest go first: they fit the fewest pieces.
void SparePages::SetMost(std::uint64_t most) noexcept {
  const MutexLock lock(mutex_);
  most_ = most;
  while (kept_ > most_) {
    const auto [bytes, offset] = *by_size_.begin();
    Remove(ranges_.find(offset));
    Drop(offset, bytes);
  }
}

bool SparePages::Keep(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (Note(offset, bytes)) return true;
  Drop(offset, bytes);
  return false;
}

bool SparePages::Note(std::uint64_t offset, std::uint64_t bytes) noexcept {
#ifdef MREMAP_DONTUNMAP
  const MutexLock lock(mutex_);
  if (bytes < kLeast || kept_ + bytes > most_) return false;
  try {
    const auto range = ranges_.emplace(offset, bytes).first;
    try {
      by_size_.emplace(bytes, offset);
    } catch (const std::bad_alloc&) {
      ranges_.erase(range);
      return false;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  kept_ += bytes;
  return true;
#else
  static_cast<void>(offset);
  static_cast<void>(bytes);
  return false;
#endif
}

// What is kept in that place is used again, or in the way. True: all of it is there.
bool SparePages::TakeBack(std::uint64_t offset, std::uint64_t bytes) {
  auto range = ranges_.upper_bound(offset);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first < offset + bytes) {
    const auto [begin, size] = *range;
    const auto next = std::next(range);
    if (begin + size > offset) {
      Remove(range);
      if (begin <= offset && begin + size >= offset + bytes) return true;
    }
    range = next;
  }
  return false;
}

bool SparePages::Give(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  if (TakeBack(offset, bytes)) return true;
  const auto fits = by_size_.lower_bound(bytes);
  if (bytes < kLeast || fits == by_size_.end()) return false;
  const auto [size, from] = *fits;
  Remove(ranges_.find(from));
  const bool moved = Move(from, offset, bytes);
  Drop(from, size);
  return moved;
}

bool SparePages::Move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept {
#ifdef MREMAP_DONTUNMAP
  return mremap(mapping_ + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                mapping_ + to) != MAP_FAILED;
#else
  static_cast<void>(from);
  static_cast<void>(to);
  static_cast<void>(bytes);
  return false;
#endif
}

}  // namespace sluice
