// Guards mapped memory that several threads read and write at any time, for as long as it is
// mapped. (A ReadGuard guards what one thread reads, for as long as it reads.)
//
// A page that the file no longer has is replaced by one of zeros that can be written, and noted as
// lost. The signal handler is ReadGuard's.
#pragma once

#include "format/disk/read_guard.h"

namespace sluice {

class LastingGuard {
 public:
  // There are places for 64 of them; one that finds none guards nothing.
  LastingGuard(Bytes mapping, LostPages& lost) noexcept;
  ~LastingGuard();
  LastingGuard(const LastingGuard&) = delete;
  LastingGuard& operator=(const LastingGuard&) = delete;

 private:
  std::size_t place_;
};

}  // namespace sluice
