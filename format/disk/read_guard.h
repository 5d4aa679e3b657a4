// Reads mapped files that may lose bytes while they are mapped.
//
// If a mapped file no longer has a page, or the disk cannot read it, touching that page raises
// SIGBUS and kills the process. While a ReadGuard lives, the page is instead replaced for good by a
// page of zeros, and noted in the file's LostPages. After reading, ask LostPages (any thread may
// ask) whether one of the bytes was lost, and use the bytes only if none was. (Copying every
// payload by pread instead took 7 us longer for 3 kB and 23 us for 54 kB than reading in place;
// making a guard takes a few nanoseconds.)
//
// The signal handler is installed with the first guard, and passes every other SIGBUS on to the
// handler there was before.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/disk/bytes.h"

namespace sluice {

// The pages of one mapping that were replaced by zeros. Written by the signal handler, read by any
// thread. If there are too many to remember, the whole mapping counts as lost.
class LostPages {
 public:
  bool Any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
  // Whether a lost page holds a byte of the range.
  bool Touch(Bytes range) const noexcept;

  void Add(std::uintptr_t page) noexcept;  // by the signal handler, before it replaces the page

 private:
  static constexpr std::uint32_t kCapacity = 256;
  std::atomic<std::uint32_t> count_{0};
  std::array<std::atomic<std::uintptr_t>, kCapacity> pages_{};
};

struct GuardedMapping {
  Bytes bytes;
  LostPages* lost = nullptr;
};

// While it lives, the calling thread can read the mappings safely. Guards of one thread nest.
class ReadGuard {
 public:
  ReadGuard(Bytes mapping, LostPages& lost) noexcept;
  // The list must outlive the guard.
  explicit ReadGuard(std::span<const GuardedMapping> mappings) noexcept;
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

 private:
  friend struct GuardedFault;  // the signal handler
  void Arm() noexcept;
  const GuardedMapping* MappingOf(std::uintptr_t address) const noexcept;

  const GuardedMapping own_;
  const std::span<const GuardedMapping> mappings_;
  const ReadGuard* outer_;
};

// Guards mapped memory that several threads read and write at any time, for as long as it is
// mapped. (A ReadGuard guards what one thread reads, for as long as it reads.)
//
// A page that the file no longer has is replaced by one of zeros that can be written, and noted as
// lost. The signal handler is ReadGuard's.
class LastingGuard {
 public:
  // At most 64 can guard at the same time; one more guards nothing.
  LastingGuard(Bytes mapping, LostPages& lost) noexcept;
  ~LastingGuard();
  LastingGuard(const LastingGuard&) = delete;
  LastingGuard& operator=(const LastingGuard&) = delete;

 private:
  std::size_t place_;
};

}  // namespace sluice
