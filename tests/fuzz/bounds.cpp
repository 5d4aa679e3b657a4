#include "tests/fuzz/bounds.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <sys/time.h>
#include <unistd.h>

#include "tests/fuzz/targets.h"

// From the address sanitizer; null without it.
extern "C" __attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, std::size_t),
    void (*free_hook)(const volatile void*));
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();

namespace sluice::fuzz {

namespace {

std::atomic<std::size_t> most_bytes{0};  // 0: no limit

void AfterMalloc(const volatile void*, std::size_t size) {
  constexpr std::size_t kMinChecked = 1 << 16;
  if (size < kMinChecked) return;
  const std::size_t most = most_bytes.load();
  Promise(most == 0 || __sanitizer_get_current_allocated_bytes() <= most,
          "the memory that an input takes is bounded");
}

void AfterFree(const volatile void*) {}

void OutOfTime(int) {
  constexpr char kMessage[] = "broken promise: the time that an input takes is bounded\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  std::abort();
}

void SetTimer(unsigned seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

TimeBound::TimeBound(unsigned seconds) {
  std::signal(SIGPROF, OutOfTime);
  SetTimer(seconds);
}

TimeBound::~TimeBound() {
  SetTimer(0);
}

MemoryBound::MemoryBound(std::size_t bytes) : before_(most_bytes) {
  static const bool counted = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                              __sanitizer_install_malloc_and_free_hooks(AfterMalloc, AfterFree) > 0;
  if (counted) most_bytes = __sanitizer_get_current_allocated_bytes() + bytes;
}

MemoryBound::~MemoryBound() {
  most_bytes = before_;
}

}  // namespace sluice::fuzz
