// Steps through an epoch without an iterator: EpochRange::Next() and WaitFor().
#include <atomic>
#include <latch>
#include <thread>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using std::chrono_literals::operator""ms;

TEST_CASE("Next() gives the batches that an iterator does, then nothing") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), OptionsFor(8, 2));
  std::vector<std::vector<std::uint64_t>> iterated, stepped;
  for (const Batch& batch : loader.Epoch(3))
    iterated.emplace_back(batch.samples().begin(), batch.samples().end());
  const EpochRange range = loader.Epoch(3);
  while (const std::optional<Batch> batch = range.Next())
    stepped.emplace_back(batch->samples().begin(), batch->samples().end());
  CHECK(iterated.size() == 7);
  CHECK(stepped == iterated);
  CHECK(range.Next() == std::nullopt);
  CHECK(range.WaitFor(0ms));
}

TEST_CASE("WaitFor() says whether the next step would wait") {
  const TemporaryFolder folder;
  std::latch go(1);
  LoaderOptions options = OptionsFor(8, 1);
  options.sample_function = [&go](MutableSample&) { go.wait(); };
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), options);
  const EpochRange range = loader.Epoch(0);
  CHECK_FALSE(range.WaitFor(0ms));
  CHECK_FALSE(range.WaitFor(20ms));
  go.count_down();
  while (!range.WaitFor(1000ms)) {
  }
  CHECK(range.Next()->size() == 8);
  loader.Epoch(1);
  CHECK(range.WaitFor(0ms));  // the range is over: another has begun
}

TEST_CASE("WaitFor() does not wait for batches that the consumer itself holds back") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(8, 1);
  options.ring = {.prefetch = 1, .hold = 0};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), options);
  const EpochRange range = loader.Epoch(0);
  const std::optional<Batch> first = range.Next(), second = range.Next();
  REQUIRE(range.WaitFor(600'000ms));
  CHECK(ErrorText([&] { range.Next(); }, ErrorCode::kState).find("ring.hold") != std::string::npos);
}

TEST_CASE(
    "Threads that only wait for a range take no batch from the thread that steps through it") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(1, 2);
  options.timeout =
      std::chrono::minutes(1);  // if a wake-up is lost, an Error ends the test instead of a hang
  Loader loader(Dataset::Open(WriteRawDataset(folder, 60)), options);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const EpochRange range = loader.Epoch(epoch);
    std::atomic<bool> over{false};
    std::vector<std::jthread> watching;
    for (int i = 0; i < 4; ++i) {
      watching.emplace_back([&] {
        while (!over)
          range.WaitFor(100ms);
      });
    }
    std::size_t batches = 0;
    try {
      while (range.Next())
        ++batches;
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
    over = true;
    watching.clear();
    REQUIRE(batches == 60);
  }
}

// A thread that steps while another one waits for a batch of the same range gets an error (kState).
TEST_CASE(
    "If two threads step through one range, no batch is lost, and one of them may be refused") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(1, 2);
  options.ring.hold = 8;
  options.timeout = std::chrono::minutes(1);
  Loader loader(Dataset::Open(WriteRawDataset(folder, 60)), options);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const EpochRange range = loader.Epoch(epoch);
    std::atomic<std::size_t> batches{0}, refused{0}, failed{0};
    const auto step = [&] {
      try {
        for (;;) {
          if (!range.WaitFor(100ms)) continue;
          if (!range.Next()) return;
          ++batches;
        }
      } catch (const Error& error) {
        std::atomic<std::size_t>& count = error.code() == ErrorCode::kState ? refused : failed;
        ++count;
      }
    };
    { const std::jthread one(step), other(step); }
    CHECK(batches == 60);
    CHECK(refused <= 1);
    CHECK(failed == 0);
  }
}

TEST_CASE("A range that another epoch has ended throws, unless it had delivered all its batches") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), OptionsFor(8, 2));
  std::size_t outer = 0, inner = 0;
  const std::string error = ErrorText(
      [&] {
        for (const Batch& batch : loader.Epoch(0)) {
          outer += batch.size();
          for (const Batch& other : loader.Epoch(7))
            inner += other.size();
        }
      },
      ErrorCode::kState);
  CHECK(error.find("another epoch of this Loader was begun") != std::string::npos);
  CHECK(outer == 8);
  CHECK(inner == 50);
  // The next epoch may begin in the body of the last batch's turn.
  const EpochRange complete = loader.Epoch(1);
  for (int i = 0; i < 7; ++i)
    CHECK(complete.Next().has_value());
  {
    std::optional<EpochRange> left = loader.Epoch(2);
    CHECK(left->Next().has_value());
    const EpochRange later = loader.Epoch(3);
    CHECK(complete.Next() == std::nullopt);
    left.reset();  // its end does not end the later one
    std::size_t batches = 0;
    while (later.Next())
      ++batches;
    CHECK(batches == 7);
  }
}
