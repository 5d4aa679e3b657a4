// Stands between a program and malloc (LD_PRELOAD), and lets malloc fail. Allocations are counted
// from 0 at the beginning of main(), because code that runs before main() could not report an
// error. SLUICE_MEMORY_FAIL=N:STEP refuses allocation N and each STEP-th after it (STEP 0: only N).
// The C library's own functions do the work, so that free() can stay as it is.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <dlfcn.h>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

constinit std::atomic<bool> counts{false};
constinit std::atomic<unsigned long> done{0};
unsigned long first = 0;
unsigned long step = 0;

bool Refuses() noexcept {
  if (!counts.load(std::memory_order_relaxed)) return false;
  const unsigned long number = done.fetch_add(1, std::memory_order_relaxed);
  const bool refuses =
      number == first || (step > 0 && number > first && (number - first) % step == 0);
  if (refuses) errno = ENOMEM;
  return refuses;
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int CountingMain(int argc, char** argv, char** environment) {
  if (const char* const fail = std::getenv("SLUICE_MEMORY_FAIL")) {
    char* rest = nullptr;
    first = std::strtoul(fail, &rest, 10);
    step = *rest == ':' ? std::strtoul(rest + 1, nullptr, 10) : 0;
    counts = true;
  }
  const int result = real_main(argc, argv, environment);
  counts = false;
  return result;
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, Main init, void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int (*)(Main, int, char**, Main, void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(CountingMain, argc, argv, init, fini, rtld_fini, stack_end);
}

void* malloc(std::size_t bytes) {
  return Refuses() ? nullptr : __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
  return Refuses() ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  return bytes > 0 && Refuses() ? nullptr : __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return Refuses() ? nullptr : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const taken = memalign(alignment, bytes);
  if (taken == nullptr) return ENOMEM;
  *memory = taken;
  return 0;
}

}  // extern "C"
