// Systems that cannot start any more threads: every place where a loader or a filter starts one.
#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

// Sanitizers intercept pthread_create() themselves, so this file cannot replace it there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

// This many threads can be started, and then no more; -1: as many as the system allows.
std::atomic<int> threads_left{-1};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.load() == 0) return EAGAIN;
  if (threads_left.load() > 0) --threads_left;
  return real(thread, attributes, run, argument);
}

TEST_CASE("If a thread cannot be started, the loader is refused with advice") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 300));
  LoaderOptions options = OptionsFor(10, 3);
  // One thread plans, and three decode.
  for (int most = 0; most < 4; ++most) {
    threads_left = most;
    std::string message;
    try {
      Loader loader(dataset, options);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(threads_left.exchange(-1) == 0);
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring("LoaderOptions::threads"));
    Loader loader(dataset, options);
    CHECK(SamplesOf(PlayBatches(loader, 0)).size() == 300);
  }
}

TEST_CASE("With few threads, a staged loader is refused with advice, or plays") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3000));
  LoaderOptions options = OptionsFor(10, 2);
  int plays = 0;
  // The store has at least one thread, the cache one, one plans, and two decode.
  for (int most = 0; most < 7; ++most) {
    options.stage = Stage{folder / ("stage" + std::to_string(most)), 10'000'000};
    threads_left = most;
    std::string message;
    std::size_t played = 0;
    try {
      Loader loader(dataset, options);
      played = SamplesOf(PlayBatches(loader, 0)).size();
    } catch (const Error& error) {
      message = error.what();
    }
    threads_left = -1;
    if (message.empty()) {
      CHECK(played == 3000);
      ++plays;
    } else {
      CHECK_THAT(message, Catch::Matchers::ContainsSubstring("LoaderOptions::threads"));
    }
  }
  CHECK(plays >= 2);
}

TEST_CASE("If no thread can be started, a filter runs in the calling thread") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 1200, 2));
  REQUIRE(dataset.shards().size() >= 2);
  FilterOptions options;
  options.threads = 3;
  threads_left = 0;
  std::uint64_t kept = 0;
  std::string message;
  try {
    const auto odd = [](const Sample& sample) { return sample.index() % 2 == 1; };
    kept = SampleList::Where(dataset, odd, options).size();
  } catch (const std::exception& error) {
    message = error.what();
  }
  threads_left = -1;
  CHECK(message.empty());
  CHECK(kept == 600);
}

#endif
