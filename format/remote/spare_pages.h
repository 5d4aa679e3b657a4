// Memory that pieces have left, for those that come.
//
// All lies in one anonymous mapping, in which each piece has its place. A fresh page costs the
// kernel five times a copy of its bytes, so the pages of a piece that is given up stay where they
// are, and are moved (mremap) to the place of one that comes and is no larger. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "format/mutex.h"

namespace sluice {

class SparePages {
 public:
  // Smaller ranges are not worth the calls, and each takes one of the process's mappings.
  static constexpr std::uint64_t kLeast = std::uint64_t{128} << 10;

  // Keeps `most` bytes at most, until SetMost(). The mapping must outlive it.
  SparePages(std::byte* mapping, std::uint64_t most) : mapping_(mapping), most_(most) {}
  void SetMost(std::uint64_t most) noexcept;

  // Whole pages, which are not used any more. False: they are not kept, but given to the system.
  bool Keep(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Puts kept pages, with whatever they hold, in the place of these. False: there are none.
  bool Give(std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;  // bytes by offset
  bool Note(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void Remove(Ranges::iterator range) REQUIRES(mutex_);
  bool TakeBack(std::uint64_t offset, std::uint64_t bytes) REQUIRES(mutex_);
  void Drop(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  bool Move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const noexcept;

  std::byte* const mapping_;
  Mutex mutex_;
  std::uint64_t most_ GUARDED_BY(mutex_);
  Ranges ranges_ GUARDED_BY(mutex_);
  std::multimap<std::uint64_t, std::uint64_t> by_size_ GUARDED_BY(mutex_);  // offsets by bytes
  std::uint64_t kept_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
