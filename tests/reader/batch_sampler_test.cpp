// OrderOptions::batches: batches composed by the user.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>

#include <sluice/resume.h>

#include "reader/order/sample_draw.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Batches of 1 to 4 samples. Some samples repeat and some never come. Each epoch is longer than the
// one before.
BatchSampler::Lists Ragged(std::uint64_t seed, std::uint64_t epoch) {
  BatchSampler::Lists lists(5 + epoch);
  for (std::size_t b = 0; b < lists.size(); ++b)
    for (std::size_t i = 0; i <= (b + epoch) % 4; ++i)
      lists[b].push_back((seed + 7 * b + 3 * i + epoch) % 30);
  return lists;
}

LoaderOptions SamplerOptions(unsigned threads) {
  LoaderOptions options = OptionsFor(4, threads);
  options.order.batches = Ragged;
  options.seed = 3;
  return options;
}

std::string Refusal(const Dataset& dataset, const LoaderOptions& options, ErrorCode code) {
  return ErrorText([&] { const Loader loader(dataset, options); }, code);
}

}  // namespace

TEST_CASE(
    "Composed batches hold the listed samples, for any number of threads and from any batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(GENERATE(0U, 1U, 3U));
  options.transform = {ColorJitter{0.9}};
  std::vector<PlayedBatch> whole;
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const BatchSampler::Lists lists = Ragged(3, epoch);
    CHECK(loader.batches_per_epoch(epoch) == lists.size());
    const auto played = PlayBatches(loader, epoch);
    REQUIRE(played.size() == lists.size());
    for (std::size_t b = 0; b < lists.size(); ++b) {
      CHECK(played[b].samples == lists[b]);
      CHECK(played[b].pixels.size() == lists[b].size() * 192);
    }
    whole.insert(whole.end(), played.begin(), played.end());
  }
  for (std::size_t done = 0; done < 7; ++done) {  // batches of epoch 1, which has 6
    Loader first(dataset, options);
    PlayBatches(first, 0);
    const std::size_t left = done == 6 ? 0 : 6 - done;
    PlayBatches(first, 1, done);
    LoaderOptions later = options;
    later.resume_from = ResumePoint::Parse(first.State().Text());
    Loader resumed(dataset, later);
    std::vector<PlayedBatch> rest;
    for (std::uint64_t epoch = resumed.State().epoch; epoch < 3; ++epoch)
      for (const PlayedBatch& batch : PlayBatches(resumed, epoch))
        rest.push_back(batch);
    REQUIRE(rest.size() == left + 7);  // epoch 2 has 7 batches
    CHECK(rest == std::vector(whole.end() - static_cast<std::ptrdiff_t>(left + 7), whole.end()));
  }
}

TEST_CASE("Ranks share each composed batch in contiguous parts") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(2);
  options.transform = {ColorJitter{0.9}};
  Loader alone(dataset, options);
  const auto expected = PlayBatches(alone, 2);
  const std::size_t world = GENERATE(2, 3, 4, 5);  // 192 lanes do not divide by 5
  std::vector<PlayedBatch> joined(expected.size());
  for (unsigned rank = 0; rank < world; ++rank) {
    options.batch_size = (4 + world - 1) / world;
    options.ranks = {.rank = rank, .world_size = static_cast<unsigned>(world)};
    Loader loader(dataset, options);
    const auto played = PlayBatches(loader, 2);
    REQUIRE(played.size() == expected.size());
    for (std::size_t b = 0; b < played.size(); ++b) {
      // All ranks have the same number of rows; filler rows come last.
      CHECK(played[b].samples.size() == (expected[b].samples.size() + world - 1) / world);
      const auto valid = static_cast<std::ptrdiff_t>(played[b].valid);
      joined[b].samples.insert(joined[b].samples.end(), played[b].samples.begin(),
                               played[b].samples.begin() + valid);
      joined[b].pixels.insert(joined[b].pixels.end(), played[b].pixels.begin(),
                              played[b].pixels.begin() + 192 * valid);
    }
  }
  for (std::size_t b = 0; b < expected.size(); ++b) {
    CHECK(joined[b].samples == expected[b].samples);
    CHECK(joined[b].pixels ==
          expected[b].pixels);  // a row's random steps do not depend on the rank
  }
}

TEST_CASE("Row(), substitutes and skipped samples work with composed batches") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(2);
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() % 5 == 0) throw std::runtime_error("a multiple of five");
  };
  SECTION("skipped") {
    options.integrity.on_fault = OnFault::kSkip;
    Loader loader(dataset, options);
    BatchSampler::Lists lists = Ragged(3, 0);
    auto list = lists.begin();
    for (const PlayedBatch& batch : PlayBatches(loader, 0)) {
      std::erase_if(*list, [](std::uint64_t sample) { return sample % 5 == 0; });
      CHECK(batch.samples == *list++);
    }
    CHECK(loader.Row(lists[1][0], 0).samples()[0] == lists[1][0]);
  }
  SECTION("replaced by others of the epoch") {
    options.integrity.on_fault = OnFault::kSubstitute;
    Loader loader(dataset, options);
    std::size_t rows = 0;
    for (const PlayedBatch& batch : PlayBatches(loader, 0)) {
      CHECK(std::none_of(batch.samples.begin(), batch.samples.end(),
                         [](std::uint64_t sample) { return sample % 5 == 0; }));
      rows += batch.samples.size();
    }
    CHECK(rows == 11);
  }
}

TEST_CASE("A wrong batch sampler is an error that names the batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(2);
  const auto refusal = [&](const BatchSampler::Lists& lists) {
    options.order.batches = [lists](std::uint64_t, std::uint64_t) { return lists; };
    return Refusal(dataset, options, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal({}), ContainsSubstring("epoch 0") && ContainsSubstring("no batches"));
  CHECK_THAT(refusal({{1}, {}}), ContainsSubstring("batch 1") && ContainsSubstring("empty"));
  CHECK_THAT(refusal({{1}, {2}, {3, 30}}),
             ContainsSubstring("epoch 0, batch 2") && ContainsSubstring("sample number 30"));
  CHECK_THAT(refusal({{1, 2, 3, 4, 5}}), ContainsSubstring("has room for 4"));
  options.order.batches = Ragged;
  options.order.samples = SampleList::Of({1});
  CHECK_THAT(Refusal(dataset, options, ErrorCode::kInvalidArgument),
             ContainsSubstring("order.samples"));
  options.order.samples = {};
  options.ranks.last_batch = LastBatch::kPad;
  CHECK_THAT(Refusal(dataset, options, ErrorCode::kInvalidArgument), ContainsSubstring("kKeep"));
  options.ranks.last_batch = LastBatch::kKeep;
  options.storage = Direct{};
  CHECK_THAT(Refusal(dataset, options, ErrorCode::kInvalidArgument), ContainsSubstring("Direct"));
}

TEST_CASE("If a batch sampler fails for a later epoch, no batch is lost") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(2);
  std::atomic<bool> fails = true;
  options.order.batches = [&fails](std::uint64_t seed, std::uint64_t epoch) {
    if (epoch == 1 && fails) throw std::runtime_error("not yet");
    return Ragged(seed, epoch);
  };
  Loader loader(dataset, options);
  CHECK(PlayBatches(loader, 0).size() == 5);
  CHECK_THAT(ErrorText([&] { loader.Epoch(1); }, ErrorCode::kState),
             ContainsSubstring("epoch 1") && ContainsSubstring("not yet"));
  fails = false;
  CHECK(PlayBatches(loader, 1).size() == 6);
  CHECK(PlayBatches(loader, 2).size() == 7);
}

TEST_CASE("A resume point among composed batches is refused by a loader without them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = SamplerOptions(1);
  Loader loader(dataset, options);
  PlayBatches(loader, 0, 2);
  LoaderOptions plain = options;
  plain.order.batches = {};
  plain.order.shuffle = Shuffle::kSequential;
  plain.resume_from = loader.State();
  CHECK(plain.resume_from->position == 2);
  CHECK_THAT(Refusal(dataset, plain, ErrorCode::kInvalidArgument),
             ContainsSubstring("order.batches"));
  options.resume_from = loader.State();
  options.resume_from->position = 5;
  CHECK_THAT(Refusal(dataset, options, ErrorCode::kInvalidArgument),
             ContainsSubstring("batch 5 of an epoch of 5"));
}

TEST_CASE("Memory() counts the lists of composed batches, and what Row() needs") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = OptionsFor(1000, 2);
  const auto bookkeeping = [&](std::size_t batches) {
    options.order.batches = [batches](std::uint64_t, std::uint64_t) {
      return BatchSampler::Lists(batches, std::vector<std::uint64_t>(1000, 7));
    };
    return Loader(dataset, options).Memory().bookkeeping;
  };
  // 8 bytes for each sample of an epoch's lists. The lists of three epochs are kept, those of one
  // are being made, and each of the two threads may still use those of another.
  CHECK(bookkeeping(500) - bookkeeping(1) >= (3 + 2 + 1) * 8 * 499'000);
  Loader loader(dataset, options);
  const LoaderMemory before = loader.Memory();
  const Batch row = loader.Row(7, 0);
  const LoaderMemory after = loader.Memory();
  CHECK(after.slots - before.slots >= 192);
  CHECK(after.scratch - before.scratch >= std::uint64_t{2} << 20);
  CHECK(after.bookkeeping - before.bookkeeping >= 8 * 500'000);
}

TEST_CASE("The timeout ends a wait for a function that composes batches, which may return later") {
  std::promise<void> go;
  std::atomic<int> calls = 0;
  const auto compose = [&, opened = go.get_future().share()](std::uint64_t seed,
                                                             std::uint64_t epoch) {
    ++calls;
    opened.wait();
    return Ragged(seed, epoch);
  };
  BatchLists lists(compose, 3, 30, 4, std::chrono::milliseconds(20));
  const auto asked = [&] { lists.Of(1); };
  const std::string text = ErrorText(asked, ErrorCode::kIo);
  CHECK_THAT(text, ContainsSubstring("epoch 1") &&
                       ContainsSubstring("order.batches has not returned within 20 ms"));
  CHECK(ErrorText(asked, ErrorCode::kIo) == text);
  go.set_value();
  for (bool waits = true; waits;) {
    try {
      asked();
      waits = false;
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::kIo);
    }
  }
  CHECK(lists.Of(1)->count() == Ragged(3, 1).size());
  CHECK(calls == 1);
}

TEST_CASE("A Loader whose function never composes batches is refused after the timeout") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = OptionsFor(4, GENERATE(0U, 2U));
  std::promise<void> go, done;
  options.order.batches = [&done, opened = go.get_future().share()](std::uint64_t seed,
                                                                    std::uint64_t epoch) {
    opened.wait();
    done.set_value();  // the call is left behind, and must not outlive this test
    return Ragged(seed, epoch);
  };
  options.timeout = std::chrono::milliseconds(20);
  CHECK_THAT(Refusal(dataset, options, ErrorCode::kIo), ContainsSubstring("has not returned"));
  go.set_value();
  done.get_future().wait();
  options.order.batches = Ragged;
  options.timeout = std::chrono::minutes(5);
  Loader patient(dataset, options);
  CHECK(PlayBatches(patient, 0).size() == 5);
}
