// Systems that have no more memory to give.
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

// A sanitizer has functions of its own for these.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

// A single request for more than this fails.
std::atomic<std::size_t> most_memory{std::numeric_limits<std::size_t>::max()};

}  // namespace

// Not inline: otherwise a compiler would see memory of one kind freed as another.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = bytes <= most_memory.load() ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("Where there is no memory to find a substitute with, the batch is an Error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, {40});
  // The order that substitutes are looked for in takes 8 MB, as that of the planner does.
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

#endif
