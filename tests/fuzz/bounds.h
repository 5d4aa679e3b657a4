// What one input may take of time and memory at the most; beyond that the process ends with a
// message.
#pragma once

#include <cstddef>

namespace sluice::fuzz {

// While it lives, the process may use so many seconds of its CPUs, all threads together.
class TimeBound {
 public:
  explicit TimeBound(unsigned seconds);
  ~TimeBound();
  TimeBound(const TimeBound&) = delete;
  TimeBound& operator=(const TimeBound&) = delete;
};

// While it lives, so many bytes may be allocated more than before. In builds with the address
// sanitizer alone; looked at when 64 KiB or more are allocated at once. The innermost one counts.
class MemoryBound {
 public:
  explicit MemoryBound(std::size_t bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

 private:
  std::size_t before_;
};

}  // namespace sluice::fuzz
