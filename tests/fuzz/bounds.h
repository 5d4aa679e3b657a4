// Limits on the time and memory that one input may take. Beyond them the process ends with a
// message.
#pragma once

#include <cstddef>

namespace sluice::fuzz {

// While it lives, all threads of the process together may use `seconds` of CPU time.
class TimeBound {
 public:
  explicit TimeBound(unsigned seconds);
  ~TimeBound();
  TimeBound(const TimeBound&) = delete;
  TimeBound& operator=(const TimeBound&) = delete;
};

// While it lives, the process may allocate `bytes` more than it had allocated before. Works only in
// builds with the address sanitizer, and checks when 64 KiB or more are allocated at once. Of
// several objects, the innermost applies.
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
