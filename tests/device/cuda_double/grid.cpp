#include "tests/device/cuda_double/grid.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define SLUICE_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define SLUICE_UNSEEN
#endif

namespace cuda_double {

namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

void Fail(const char* what) {
  std::fprintf(stderr, "cuda_double: %s\n", what);
  std::abort();
}

// A thread of a kernel, or the thread that starts the kernel.
struct Fiber {
  ucontext_t context = {};
  void* stack = nullptr;  // null: the calling thread's own
  Place place;
  std::atomic<bool> ended = false;
  // For the sanitizers: its stack, its fake stack, and its id.
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;
  void* id = nullptr;

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    if (stack == nullptr) return;
    munmap(stack, kStackBytes);
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(id);
#endif
  }
};

// The state that the running kernel and its threads share. The atomics order it: in each turn, all
// threads see what the starter did before the turn, and the starter sees what they did in it. Do
// not rely on any other order.
struct Grid {
  std::mutex one_at_a_time;
  std::deque<Fiber> fibers;  // kept, because making them takes longer than most kernels
  Fiber starter;
  Fiber* running = nullptr;
  const std::function<void()>* kernel = nullptr;
  std::atomic<unsigned> turn = 0, done = 0;
};
Grid grid;

SLUICE_UNSEEN Fiber* Running() noexcept {
  return grid.running;
}

// Completes a switch to `fiber` for the address sanitizer. A thread of the kernel also notes the
// stack that it comes from, that of the starter: each kernel may have another starter.
SLUICE_UNSEEN void Arrive([[maybe_unused]] Fiber& fiber) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  const bool starts = &fiber == &grid.starter;
  __sanitizer_finish_switch_fiber(fiber.fake_stack, starts ? nullptr : &grid.starter.bottom,
                                  starts ? nullptr : &grid.starter.bytes);
#endif
}

// `from` stops here until another fiber switches to it.
SLUICE_UNSEEN void Switch(Fiber& from, Fiber& to) noexcept {
  grid.running = &to;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.id, __tsan_switch_to_fiber_no_sync);
#endif
  swapcontext(&from.context, &to.context);
  Arrive(from);
}

// A fiber's endless loop: in each round, it is one thread of a block.
void RunFiber() {
  Fiber& self = *Running();
  Arrive(self);
  for (;;) {
    grid.turn.load(std::memory_order_acquire);
    (*grid.kernel)();
    self.ended.store(true, std::memory_order_relaxed);
    grid.done.fetch_add(1, std::memory_order_release);
    Switch(self, grid.starter);
  }
}

void MakeFibers(unsigned threads) {
  while (grid.fibers.size() < threads) {
    Fiber& fiber = grid.fibers.emplace_back();
    fiber.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber.stack == MAP_FAILED) Fail("cannot allocate the stack of a kernel's thread");
    fiber.bottom = fiber.stack;
    fiber.bytes = kStackBytes;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, RunFiber, 0);
    fiber.context.uc_stack.ss_size = 0;  // otherwise the address sanitizer wipes it at each switch
#if defined(__SANITIZE_THREAD__)
    fiber.id = __tsan_create_fiber(0);
#endif
  }
}

void RunBlock(const Place& place, unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = grid.fibers[t];
    fiber.place = place;
    fiber.place.thread.x = t;
    fiber.ended = false;
  }
  unsigned ended = 0;
  // Kernels must not rely on an order of threads, so it is reversed from turn to turn.
  for (bool backwards = false; ended == 0; backwards = !backwards) {
    grid.turn.fetch_add(1, std::memory_order_release);
    for (unsigned i = 0; i < threads; ++i) {
      Fiber& fiber = grid.fibers[backwards ? threads - 1 - i : i];
      Switch(grid.starter, fiber);
      ended += fiber.ended.load(std::memory_order_relaxed) ? 1 : 0;
    }
    grid.done.load(std::memory_order_acquire);
  }
  if (ended != threads) Fail("some threads of a block ended where others waited at a barrier");
}

}  // namespace

SLUICE_UNSEEN const Place& Here() noexcept {
  return grid.running->place;
}

void Barrier() noexcept {
  grid.done.fetch_add(1, std::memory_order_release);
  Switch(*Running(), grid.starter);
  grid.turn.load(std::memory_order_acquire);
}

std::uint32_t WarpShuffle(unsigned from, std::uint32_t value) {
  static std::uint32_t values[kWarpThreads];
  if (Here().threads.x != kWarpThreads)
    Fail("a function for a warp was called in a block that is not a single warp");
  values[Here().thread.x] = value;
  Barrier();
  const std::uint32_t of_other = values[from % kWarpThreads];
  Barrier();
  return of_other;
}

void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  const std::lock_guard lock(grid.one_at_a_time);
  MakeFibers(threads);
  grid.kernel = &kernel;
#if defined(__SANITIZE_THREAD__)
  grid.starter.id = __tsan_get_current_fiber();
#endif
  Place place;
  place.blocks.x = blocks;
  place.threads.x = threads;
  for (; place.block.x < blocks; ++place.block.x)
    RunBlock(place, threads);
}

}  // namespace cuda_double
