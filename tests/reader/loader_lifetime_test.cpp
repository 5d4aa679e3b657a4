// How a loader, its ranges, iterators and batches may be used and dropped: held batches, epochs
// left early, several threads, and errors.
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include <sluice/error.h>
#include <sluice/loader.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Runs `action` on a new thread, and returns the code of the Error that it throws, if any.
std::optional<ErrorCode> OnAnotherThread(const std::function<void()>& action) {
  std::optional<ErrorCode> code;
  std::thread([&] {
    try {
      action();
    } catch (const Error& error) {
      code = error.code();
    }
  }).join();
  return code;
}

// Makes samples of epoch 0 wait until the gate is opened.
struct Gate {
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  void PutInto(LoaderOptions& options) const {
    options.sample_function = [opened = opened](MutableSample& sample) {
      if (sample.epoch() == 0) opened.wait();
    };
  }
};

// Returns when a thread waits for a batch.
void AwaitConsumer(const Loader& loader) {
  while (loader.Stats().consumer_wait_seconds == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("A consumer may hold several batches at once, as many as it announced") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 3;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 200)), options);
  std::vector<Batch> held;
  std::vector<std::vector<std::uint64_t>> samples;
  for (const Batch& batch : loader.Epoch(0)) {
    held.push_back(batch);
    samples.emplace_back(batch.samples().begin(), batch.samples().end());
    if (held.size() == 4) break;  // this batch and three others
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    REQUIRE(held[i].index() == i);
    for (std::size_t row = 0; row < 10; ++row) {
      REQUIRE(held[i].samples()[row] == samples[i][row]);
      REQUIRE(held[i].image().data[row * 192] == samples[i][row] % 251);
    }
  }
}

TEST_CASE("A consumer that holds every batch and asks for another gets an error, not a hang") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 200)), options);
  std::vector<Batch> held;
  bool refused = false;
  try {
    for (const Batch& batch : loader.Epoch(0))
      held.push_back(batch);
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::kState;
  }
  REQUIRE(refused);
  REQUIRE(held.size() == 3);  // one batch for each of prefetch and hold, and the consumer's own
  held.clear();
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(1))
    batches += batch.size() == 10 ? 1 : 0;
  REQUIRE(batches == 20);
}

TEST_CASE("An iterator continues after the batch it threw for, and has no batch until then") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(8, 2);
  options.batch_function = [](MutableBatch& batch) {
    if (batch.index() % 3 == 0) throw std::runtime_error("not this one");
  };
  Loader loader(Dataset::Open(WriteRawDataset(folder, 32)), options);
  const EpochRange range = loader.Epoch(0);
  ErrorText([&] { range.begin(); }, ErrorCode::kState);
  EpochIterator it = range.begin();  // after the batch that failed
  CHECK(it->index() == 1);
  ++it;
  CHECK(it->index() == 2);
  ErrorText([&] { ++it; }, ErrorCode::kState);
  CHECK_FALSE(it == range.end());
  CHECK(ErrorText([&] { *it; }, ErrorCode::kState).find("++ threw") != std::string::npos);
  CHECK(ErrorText([&] { it->size(); }, ErrorCode::kState).find("++ threw") != std::string::npos);
  ++it;
  CHECK(it == range.end());
  CHECK(ErrorText([&] { *it; }, ErrorCode::kState).find("is over") != std::string::npos);
  ++it;
  CHECK(it == range.end());
}

TEST_CASE("An iterator that found no free slot gets its batch once there is one") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), options);
  const EpochRange range = loader.Epoch(0);
  std::vector<Batch> held;
  EpochIterator it = range.begin();
  for (; held.size() < 2; ++it)
    held.push_back(*it);
  held.push_back(*it);
  ErrorText([&] { ++it; }, ErrorCode::kState);
  CHECK_FALSE(it == range.end());
  held.clear();
  for (std::uint64_t index = 3; index < 5; ++index) {
    ++it;
    CHECK(it->index() == index);
  }
  ++it;
  CHECK(it == range.end());
}

TEST_CASE("A batch outlives its epoch and its loader") {
  const TemporaryFolder folder;
  std::optional<Batch> kept;
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), OptionsFor(10, 2));
    for (const Batch& batch : loader.Epoch(0)) {
      if (batch.index() == 3) kept = batch;
    }
    for (const Batch& batch : loader.Epoch(1))
      REQUIRE(batch.size() == 10);
  }
  REQUIRE(kept->index() == 3);
  REQUIRE(kept->Field<std::int32_t>("label").size() == 10);
  for (std::size_t row = 0; row < 10; ++row) {
    REQUIRE(kept->image().data[row * 192] == kept->samples()[row] % 251);
  }
}

TEST_CASE("An epoch may be left at any batch, and any other epoch begun") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 300)), OptionsFor(10, 3));
  for (std::uint64_t round = 0; round < 60; ++round) {
    std::uint64_t seen = 0;
    const std::uint64_t epoch = round * 7 % 5;
    for (const Batch& batch : loader.Epoch(epoch)) {
      REQUIRE(batch.epoch() == epoch);
      REQUIRE(batch.index() == seen);
      REQUIRE(batch.image().data[0] == batch.samples()[0] % 251);
      if (++seen > round % 31) break;
    }
  }
}

TEST_CASE("A range throws when another epoch has begun") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsFor(10, 2));
  const EpochRange first = loader.Epoch(0);
  EpochIterator it = first.begin();
  REQUIRE(it->epoch() == 0);
  const EpochRange second = loader.Epoch(3);
  CHECK(ErrorText([&] { ++it; }, ErrorCode::kState).find("another epoch") != std::string::npos);
  REQUIRE(second.begin()->epoch() == 3);
}

TEST_CASE(
    "A second thread in a range gets an error at its first step, and the first one continues") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsFor(10, 2));
  const EpochRange range = loader.Epoch(0);
  std::uint64_t next = 0;
  for (const Batch& batch : range) {
    REQUIRE(batch.index() == next++);
    REQUIRE(OnAnotherThread([&] { range.begin(); }) == ErrorCode::kState);
  }
  REQUIRE(next == 10);
}

TEST_CASE("A thread that steps while another waits for a batch gets an error") {
  const TemporaryFolder folder;
  Gate gate;
  LoaderOptions options = OptionsFor(10, 2);
  gate.PutInto(options);
  Loader loader(Dataset::Open(WriteRawDataset(folder, 60)), options);
  const EpochRange range = loader.Epoch(0);
  std::vector<std::uint64_t> played;
  std::thread first([&] {
    for (const Batch& batch : range)
      played.push_back(batch.index());
  });
  AwaitConsumer(loader);
  const std::string text = ErrorText([&] { range.begin(); }, ErrorCode::kState);
  gate.open.set_value();
  first.join();
  CHECK(text.find("only one thread at a time") != std::string::npos);
  CHECK(played == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("An iteration may continue in another thread that receives its iterator or range") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsFor(10, 2));
  const EpochRange range = loader.Epoch(0);
  std::uint64_t next = 0;
  {
    EpochIterator it = range.begin();
    for (; next < 4; ++next) {
      CHECK(it->index() == next);
      CHECK_FALSE(OnAnotherThread([&] { ++it; }));
    }
    EpochIterator moved = std::move(it);
    CHECK_FALSE(OnAnotherThread([&] { ++moved; }));
    CHECK(moved->index() == ++next);
  }
  // The iterators are gone, so another thread may step through the range.
  std::vector<std::uint64_t> rest;
  CHECK_FALSE(OnAnotherThread([&] {
    for (const Batch& batch : range)
      rest.push_back(batch.index());
  }));
  CHECK(rest == std::vector<std::uint64_t>{6, 7, 8, 9});
}

TEST_CASE("Two iterators of a range on one thread share its batches") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 60)), OptionsFor(10, 2));
  const EpochRange range = loader.Epoch(0);
  EpochIterator a = range.begin();
  EpochIterator b = range.begin();
  CHECK((a->index() == 0 && b->index() == 1));
  ++b;
  CHECK(b->index() == 2);
  for (std::uint64_t index = 3; index < 6; ++index) {
    ++a;
    CHECK(a->index() == index);
  }
  ++b;
  CHECK(b == range.end());
  ++a;
  CHECK(a == range.end());
}

TEST_CASE("A thread that waits for a batch of a range gets an error when another epoch begins") {
  const TemporaryFolder folder;
  Gate gate;
  LoaderOptions options = OptionsFor(10, 2);
  gate.PutInto(options);
  Loader loader(Dataset::Open(WriteRawDataset(folder, 60)), options);
  const EpochRange first = loader.Epoch(0);
  std::size_t played = 0;
  std::optional<ErrorCode> code;
  std::thread waiting([&] {
    try {
      for (EpochIterator it = first.begin(); it != first.end(); ++it)
        ++played;
    } catch (const Error& error) {
      code = error.code();
    }
  });
  AwaitConsumer(loader);
  const EpochRange second = loader.Epoch(1);
  waiting.join();
  gate.open.set_value();
  CHECK(played == 0);
  CHECK(code == ErrorCode::kState);
  std::uint64_t next = 0;
  for (const Batch& batch : second)
    CHECK((batch.epoch() == 1 && batch.index() == next++));
  CHECK(next == 6);
}

TEST_CASE("A loader can be dropped in any state, and moved") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 120));
  LoaderOptions options = OptionsFor(16, 4);
  options.transform = {RandomResizedCrop(64)};
  for (int round = 0; round < 30; ++round) {
    Loader loader(dataset, options);
    if (round % 3 == 0) continue;  // never played
    int batches = 0;
    for (const Batch& batch : loader.Epoch(static_cast<std::uint64_t>(round))) {
      REQUIRE(batch.size() > 0);
      if (++batches == round % 5) break;
    }
    Loader moved = std::move(loader);
    REQUIRE(moved.threads() == 4);
  }
}

TEST_CASE("A forked child gets an error from its parent's loader, and may make its own") {
  if (!kForks) return;
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60));
  LoaderOptions options = OptionsFor(4, 2);
  options.transform = {Resize(32, 32)};
  std::optional<Loader> loader(std::in_place, dataset, options);
  const EpochRange range = loader->Epoch(0);
  std::optional<EpochIterator> it = range.begin();
  std::optional<Batch> kept = **it;
  CHECK(InChild([&] {
          const auto refuses = [](const auto& call) {
            return CodeOf([&] { call(); }) == ErrorCode::kState;
          };
          bool good = refuses([&] { ++*it; }) && refuses([&] { range.Next(); }) &&
                      refuses([&] { loader->Epoch(1); }) && refuses([&] { loader->Stats(); }) &&
                      refuses([&] { loader->Row(0, 0); }) && refuses([&] { loader->State(); });
          kept.reset();
          it.reset();
          loader.reset();
          Loader own(dataset, options);
          std::size_t rows = 0;
          for (const Batch& batch : own.Epoch(0))
            rows += batch.size();
          return good && rows == 60;
        }) == 0);
  kept.reset();
  std::size_t batches = 1;
  while (++*it != std::default_sentinel)
    ++batches;
  CHECK(batches == 15);
}

TEST_CASE("An exception in the consumer leaves nothing behind") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  for (int round = 0; round < 20; ++round) {
    try {
      Loader loader(dataset, OptionsFor(10, 3));
      for (const Batch& batch : loader.Epoch(0)) {
        if (batch.index() == 2) throw std::runtime_error("the trainer failed");
      }
      FAIL("not reached");
    } catch (const std::runtime_error& error) {
      REQUIRE(std::string(error.what()) == "the trainer failed");
    }
  }
}

TEST_CASE("Another thread may give batches back while the next is waited for") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(5, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 400)), options);
  std::thread returner;
  std::size_t seen = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    if (returner.joinable()) returner.join();
    returner = std::thread([held = batch]() mutable {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      REQUIRE(held.size() == 5);
    });
    ++seen;
  }
  returner.join();
  REQUIRE(seen == 80);
}

TEST_CASE("Several loaders over one dataset do not disturb each other") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 200));
  Loader a(dataset, OptionsFor(10, 2));
  Loader b(dataset, OptionsFor(25, 2));
  std::uint64_t samples = 0;
  for (const Batch& from_a : a.Epoch(0)) {
    samples += from_a.size();
    if (from_a.index() == 5) {
      for (const Batch& from_b : b.Epoch(0))
        samples += from_b.size();
    }
  }
  REQUIRE(samples == 400);
}

TEST_CASE("An iterator reports that its loader is gone") {
  const TemporaryFolder folder;
  std::optional<Loader> loader(std::in_place, Dataset::Open(WriteRawDataset(folder, 100)),
                               OptionsFor(10, 2));
  EpochIterator it = loader->Epoch(0).begin();
  loader.reset();
  bool refused = false;
  try {
    ++it;
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::kState;
  }
  REQUIRE(refused);
}
