// Systems that run out of memory: any allocation may fail.
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

// Sanitizers have their own operators new and delete, which this file replaces.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

// A single request for more than this fails.
std::atomic<std::size_t> most_memory{std::numeric_limits<std::size_t>::max()};
// The request after `until_refused` others fails, whatever its size (negative: none fails). From
// then on, one in `then_each` requests fails (0: no other request fails).
std::atomic<long> until_refused{-1};
std::atomic<long> then_each{0};

bool Refuses() noexcept {
  long left = until_refused.load(std::memory_order_relaxed);
  while (left >= 0) {
    const long next = left > 0 ? left - 1 : then_each.load(std::memory_order_relaxed) - 1;
    if (until_refused.compare_exchange_weak(left, next)) return left == 0;
  }
  return false;
}

}  // namespace

// Not inline, because a compiler would otherwise warn that free() frees memory from new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool gives = bytes <= most_memory.load() && !Refuses();
  void* const memory = gives ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("Without memory to find a substitute, the step to its batch throws an Error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, {40});
  // The order in which substitutes are searched takes 8 MB, as that of the planner does.
  std::vector<std::uint64_t> samples(1'000'000, 7);
  samples[5'000] = 40;
  LoaderOptions options = OptionsFor(100, 2);
  options.order.shuffle = Shuffle::kSequential;
  options.integrity.on_fault = OnFault::kSubstitute;
  options.order.samples = SampleList::Of(std::move(samples));
  Loader loader(Dataset::Open(path), options);
  EpochIterator it = loader.Epoch(0).begin();
  most_memory = 4'000'000;
  std::uint64_t batches = 1;
  std::string message;
  try {
    for (; batches < 60; ++batches)
      ++it;
  } catch (const Error& error) {
    message = error.what();
  }
  most_memory = std::numeric_limits<std::size_t>::max();
  CHECK(batches == 50);
  CHECK_THAT(message, Catch::Matchers::ContainsSubstring("not enough memory"));
  // The sample can be read once there is memory again.
  REQUIRE_FALSE(PlayBatches(loader, 0, 60).empty());
  CHECK(loader.Faults().size() == 1);
}

static_assert(std::is_nothrow_copy_constructible_v<Error>);
static_assert(std::is_nothrow_copy_assignable_v<Error>);

TEST_CASE("Whichever allocation fails, an epoch is complete or ends in an error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 40);
  LoaderOptions options = OptionsFor(8, GENERATE(0U, 2U));
  options.transform = {RandomResizedCrop(16), HorizontalFlip()};
  options.integrity.on_fault = GENERATE(OnFault::kError, OnFault::kSkip);
  const Dataset dataset = Dataset::Open(path);
  Loader whole(dataset, options);
  const std::vector<PlayedBatch> expected = PlayBatches(whole, 0);
  for (const long each : {0L, 40L, 7L, 1L}) {
    for (long first = 0; first < 2000; first = first * 5 / 4 + 7) {
      INFO("request " << first << ", and then each " << each << "th");
      until_refused = first;
      then_each = each;
      try {
        Loader loader(dataset, options);
        const std::vector<PlayedBatch> played = PlayBatches(loader, 0);
        until_refused = -1;
        CHECK(played == expected);
        CHECK(loader.Faults().empty());
      } catch (const Error& error) {
        until_refused = -1;
        CHECK(error.code() != ErrorCode::kCorrupt);
      } catch (const std::bad_alloc&) {
        until_refused = -1;
      }
    }
  }
}

#endif
