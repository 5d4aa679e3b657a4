// OrderOptions::skip: batches that are left out; and EpochPart: batches that are played again.
#include <algorithm>
#include <set>

#include <sluice/mixture.h>
#include <sluice/resume.h>

#include "format/remote/local_store.h"
#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/tiny_shards.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Global batches of 12 samples, with random steps.
LoaderOptions SkipOptions(unsigned rank, unsigned world) {
  LoaderOptions options = OptionsFor(12 / world, 2);
  options.order.lanes = 4;
  options.order.window_bytes = 1;
  options.transform = {HorizontalFlip(), ColorJitter{0.9}};
  options.ranks = {.rank = rank, .world_size = world};
  return options;
}

std::vector<PlayedBatch> PlayedEpochs(Loader& loader, std::uint64_t first, std::uint64_t end) {
  std::vector<PlayedBatch> played;
  for (std::uint64_t epoch = first; epoch < end; ++epoch)
    for (PlayedBatch& batch : PlayBatches(loader, epoch))
      played.push_back(std::move(batch));
  return played;
}

bool IsSkipped(const PlayedBatch& batch, const std::vector<SkippedBatches>& ranges) {
  return std::ranges::any_of(ranges, [&](const SkippedBatches& range) {
    return batch.epoch == range.epoch && batch.index >= range.first &&
           batch.index < range.first + range.count;
  });
}

std::vector<PlayedBatch> Without(std::vector<PlayedBatch> batches,
                                 const std::vector<SkippedBatches>& ranges) {
  std::erase_if(batches, [&](const PlayedBatch& batch) { return IsSkipped(batch, ranges); });
  return batches;
}

// 90 samples: 8 global batches. In the middle, two in a row, the ends of epochs, a whole epoch.
const std::vector<SkippedBatches> kRanges = {{2, 0, 8}, {0, 2, 2}, {0, 4, 1}, {1, 0, 1}, {1, 6, 2}};

template <class Source>
void RequireSkipped(const Source& source, LoaderOptions options,
                    const std::vector<SkippedBatches>& ranges) {
  Loader plain(source, options);
  const std::vector<PlayedBatch> expected = Without(PlayedEpochs(plain, 0, 4), ranges);
  options.order.skip = ranges;
  Loader loader(source, options);
  REQUIRE(PlayedEpochs(loader, 0, 4) == expected);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    std::uint64_t batches = 0, samples = 0;
    for (const PlayedBatch& batch : expected) {
      if (batch.epoch != epoch) continue;
      ++batches;
      samples += batch.samples.size();
    }
    CHECK(loader.batches_per_epoch(epoch) == batches);
    CHECK(loader.samples_per_epoch(epoch) == samples);
  }
}

}  // namespace

TEST_CASE("Batches that are skipped are left out on all ranks, and the others stay to the byte") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  const unsigned world = GENERATE(1U, 2U, 4U);
  for (unsigned rank = 0; rank < world; ++rank) {
    for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
      LoaderOptions options = SkipOptions(rank, world);
      options.order.shuffle = shuffle;
      RequireSkipped(dataset, options, kRanges);
    }
    LoaderOptions options = SkipOptions(rank, world);
    options.storage = Direct{};
    RequireSkipped(dataset, options, kRanges);
    options.storage = Mapped{};
    options.order.samples = SampleList::Weighted(std::vector<double>(90, 1.0), 90, true);
    RequireSkipped(dataset, options, kRanges);
  }
}

TEST_CASE("Batches of mixtures, of dealt shards and composed ones can be skipped") {
  const TemporaryFolder folder, other;
  const Dataset a = Dataset::Open(WriteRawDataset(folder, 60, 4));
  const Dataset b = Dataset::Open(WriteRawDataset(other, 30, 4));
  for (const bool of_each : {false, true}) {
    Mixture mixture{{a, 2}, {b, 1}};
    mixture.length = MixtureLength::kSamples;
    mixture.samples = 96;
    if (of_each) mixture.shares = MixtureShares::kOfEachBatch;
    RequireSkipped(mixture, SkipOptions(1, 2), kRanges);
  }
  WriteTinyShards(folder / "tiny", 24);
  LoaderOptions options = SkipOptions(1, 2);
  options.ranks.by_shards = true;
  RequireSkipped(Dataset::Open(folder / "tiny"), options,
                 {{0, 1, 1}, {1, 0, 4}, {2, 0, 4}, {3, 3, 1}});
  options.ranks.by_shards = false;
  options.order.batches = [](std::uint64_t, std::uint64_t epoch) {
    BatchSampler::Lists lists(4 + epoch);
    for (std::size_t i = 0; i < lists.size(); ++i)
      lists[i].assign(1 + i, 7 * i + epoch);
    return lists;
  };
  RequireSkipped(a, options, {{0, 1, 1}, {1, 0, 5}, {2, 5, 1}});
}

TEST_CASE("The state from before the spike resumes with the batches left out, on any world size") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  const std::vector<SkippedBatches> ranges = {{0, 2, 3}, {1, 0, 1}};
  for (const std::size_t stop : {1U, 2U, 3U, 5U, 8U}) {  // before, inside and after the range
    Loader before(dataset, SkipOptions(0, 2));
    PlayBatches(before, 0, stop);
    for (const unsigned world : {1U, 2U, 4U}) {
      for (unsigned rank = 0; rank < world; ++rank) {
        LoaderOptions options = SkipOptions(rank, world);
        Loader plain(dataset, options);
        std::vector<PlayedBatch> expected = Without(PlayedEpochs(plain, 0, 2), ranges);
        std::erase_if(expected, [&](const PlayedBatch& batch) {
          return batch.epoch == 0 && batch.index < stop;
        });
        options.resume_from = ResumePoint::Parse(before.State().Text());
        options.order.skip = ranges;
        Loader resumed(dataset, options);
        REQUIRE(PlayedEpochs(resumed, resumed.State().epoch, 2) == expected);
      }
    }
  }
}

TEST_CASE("A state lies behind the batches that were left out, and has no trace of them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = SkipOptions(0, 1);
  Loader plain(dataset, options);
  PlayBatches(plain, 0, 5);
  const ResumePoint after_five = plain.State();
  options.order.skip = {{0, 2, 3}, {0, 7, 1}, {1, 0, 8}};
  Loader loader(dataset, options);
  PlayBatches(loader, 0, 2);
  CHECK(loader.State() == after_five);
  PlayBatches(loader, 0);
  CHECK((loader.State().epoch == 2 && loader.State().position == 0));
}

TEST_CASE("The next epoch comes after one that is skipped whole, and flows on") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = SkipOptions(0, 1);
  options.order.skip = {{1, 0, 8}, {2, 0, 8}};
  Loader loader(dataset, options);
  CHECK(PlayBatches(loader, 0).size() == 8);
  CHECK(PlayBatches(loader, 1).empty());
  CHECK(PlayBatches(loader, 2).empty());
  CHECK(PlayBatches(loader, 3).size() == 8);
  // Each of 16 batches once, and what is decoded ahead into a ring of at most 12.
  CHECK(loader.Stats().payload_bytes <= (16 + 12) * 12 * 192);
  CHECK(PlayBatches(loader, 1).empty());  // also as the first epoch of a stream
  CHECK(loader.Epoch(2).Next() == std::nullopt);
}

TEST_CASE("Ranges that were counted with another batch size are converted, or refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = OptionsFor(6, 1);
  options.ranks = {.rank = 0, .world_size = 1};
  options.order.skip = {{0, 1, 2, 12}, {1, 6, 2, 12}};  // samples 12 to 36, and 72 to the end
  Loader loader(dataset, options);
  CHECK(loader.batches_per_epoch(0) == 15 - 4);
  CHECK(loader.batches_per_epoch(1) == 12);
  std::set<std::uint64_t> indices;
  for (const PlayedBatch& batch : PlayBatches(loader, 0))
    indices.insert(batch.index);
  CHECK(indices == std::set<std::uint64_t>{0, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  options.batch_size = 9;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("order.skip has 2 batches from batch 1 of epoch 0 on") &&
                 ContainsSubstring("the samples from 12 to 36") &&
                 ContainsSubstring("world_size = 9"));
}

TEST_CASE("Ranges that overlap or that the epoch does not have are refused, with the figures") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  const auto refused = [&](const std::vector<SkippedBatches>& ranges, const std::string& why) {
    LoaderOptions options = SkipOptions(0, 1);
    options.order.skip = ranges;
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(why));
  };
  refused({{3, 7, 2}}, "has 2 batches from batch 7 of epoch 3 on, and the epoch has 8 batches");
  refused({{3, 8, 1}}, "the epoch has 8 batches");
  refused({{3, UINT64_MAX, UINT64_MAX}}, "the epoch has 8 batches");
  refused({{3, 1, 0}}, "has 0 batches from batch 1 of epoch 3 on");
  refused({{3, 4, 2}, {3, 2, 3}}, "overlaps");
  refused({{3, 0, 8}, {3, 7, 1}}, "overlaps");
}

TEST_CASE("Skipping batches keeps the memory bound, past the page cache and from a store") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteLargerDataset(folder, 3200);
  LoaderOptions options = OptionsFor(16, 2);
  options.ring.prefetch = 2;
  options.order.lanes = 4;
  options.order.window_bytes = 4 * 40 * kPictureBytes;
  for (std::uint64_t first = 3; first < 196; first += 7)
    options.order.skip.push_back({0, first, first % 5 + 1});
  SECTION("past the page cache") {
    options.storage = Direct{};
    const Dataset dataset = Dataset::Open(path);
    const std::uint64_t before = AnonymousBytes();
    Loader loader(dataset, options);
    std::uint64_t most = 0;
    for (const Batch& batch : loader.Epoch(0)) {
      REQUIRE(batch.image().data[0] == static_cast<std::uint8_t>(batch.samples()[0]));
      if (batch.index() % 4 == 0) most = std::max(most, AnonymousBytes());
    }
    if (!kSanitized) CHECK(most <= before + loader.Memory().own());
  }
  SECTION("from a store") {
    const auto state = DatasetState::Open(std::make_shared<LocalStore>(path));
    options.storage = Mapped{std::uint64_t{4} << 20};
    Loader loader(DatasetOf(state), options);
    std::uint64_t most = 0;
    for (const Batch& batch : loader.Epoch(0)) {
      REQUIRE(batch.image().data[0] == static_cast<std::uint8_t>(batch.samples()[0]));
      most = std::max(most, state->table.remote->allocated());
    }
    CHECK(most > 0);
    CHECK(most <= loader.Memory().blocks);
  }
}

TEST_CASE("A part of an epoch has the bytes of those batches, on any rank, and nothing else") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  const LoaderOptions options = SkipOptions(1, 2);
  Loader training(dataset, options);
  const std::vector<PlayedBatch> epoch = PlayBatches(training, 3);
  const auto play = [](const EpochRange& range) {
    std::vector<PlayedBatch> played;
    for (const Batch& batch : range)
      played.push_back(Keep(batch));
    return played;
  };
  Loader again(dataset, options);
  CHECK(play(again.Epoch(3, {.first = 5, .count = 1})) ==
        std::vector(epoch.begin() + 5, epoch.begin() + 6));
  CHECK(again.Stats().payload_bytes == 6 * 192);  // no batch after it was decoded
  CHECK((again.State().epoch == 3 && again.State().position == 72));
  CHECK(play(again.Epoch(3, {.first = 6})) == std::vector(epoch.begin() + 6, epoch.end()));
  CHECK(play(again.Epoch(3, {.first = 8})).empty());
  CHECK(play(again.Epoch(3, {.first = 2, .count = 0})).empty());
  CHECK(play(again.Epoch(3)) == epoch);
  CHECK(again.batches_per_epoch(3, {.first = 6}) == 2);
  CHECK_THAT(
      ErrorText([&] { again.Epoch(3, {.first = 6, .count = 3}); }, ErrorCode::kInvalidArgument),
      ContainsSubstring("epoch 3 has 8 batches, numbered from 0, and 3 from batch 6 on"));
}

TEST_CASE("A part of an epoch does not use up the point to resume from") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = SkipOptions(0, 1);
  Loader training(dataset, options);
  const std::vector<PlayedBatch> epoch = PlayBatches(training, 3);
  Loader interrupted(dataset, options);
  PlayBatches(interrupted, 3, 5);
  options.resume_from = interrupted.State();
  Loader resumed(dataset, options);
  CHECK(resumed.Epoch(3, {.first = 1, .count = 1}).Next()->index() == 1);
  CHECK(PlayBatches(resumed, 3) == std::vector(epoch.begin() + 5, epoch.end()));
}
