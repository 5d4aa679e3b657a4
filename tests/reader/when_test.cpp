// Loader::When(): the plan, asked backwards, against what loaders play.
#include <algorithm>
#include <numeric>
#include <tuple>

#include <sluice/mixture.h>
#include <sluice/resume.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/tiny_shards.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::uint64_t> FirstNumbers(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

// The options of a loader whose batches have the positions that a function of the user's sees.
LoaderOptions AskedOptions(std::size_t batch_size) {
  LoaderOptions options = OptionsFor(batch_size, 0);
  options.order.lanes = 4;
  options.order.window_bytes = 1;
  options.seed = 11;
  options.sample_function = [](MutableSample& sample) {
    sample.Field<std::int64_t>("position")[0] = static_cast<std::int64_t>(sample.position());
  };
  options.output.made_fields = {Field::Array("position", DType::kInt64, {})};
  return options;
}

void AddPlayed(Loader& loader, std::uint64_t epoch, std::vector<PlayedRow>& played) {
  for (const Batch& batch : loader.Epoch(epoch)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const auto position = batch.Field<std::int64_t>("position")[row];
      played.push_back({batch.samples()[row], epoch, batch.index(), loader.rank().rank, row,
                        static_cast<std::uint64_t>(position)});
    }
  }
}

void SortByPlay(std::vector<PlayedRow>& rows) {
  std::ranges::sort(rows, {}, [](const PlayedRow& row) {
    return std::tuple(row.epoch, row.batch, row.rank, row.row);
  });
}

template <class Source>
void RequireAsPlayed(const Source& source, LoaderOptions options, std::uint64_t samples,
                     const std::vector<LastBatch>& ways) {
  const std::vector<std::uint64_t> epochs = {0, 3};
  for (const unsigned world : {1U, 2U, 4U}) {
    for (const LastBatch last : ways) {
      INFO("world size " << world << ", last batch " << int(last));
      std::vector<PlayedRow> played, planned;
      for (unsigned rank = 0; rank < world; ++rank) {
        const bool by_shards = options.ranks.by_shards;
        options.ranks = {.rank = rank, .world_size = world, .last_batch = last};
        options.ranks.by_shards = by_shards;
        Loader loader(source, options);
        for (const std::uint64_t epoch : epochs)
          AddPlayed(loader, epoch, played);
        planned = loader.When(FirstNumbers(samples), epochs);
      }
      SortByPlay(played);
      REQUIRE_FALSE(played.empty());
      REQUIRE(planned == played);
    }
  }
}

const std::vector<LastBatch> kAllWays = {LastBatch::kKeep, LastBatch::kPad, LastBatch::kDrop};

BatchSampler::Lists SomeLists(std::uint64_t seed, std::uint64_t epoch) {
  BatchSampler::Lists lists(5 + epoch);
  for (std::size_t b = 0; b < lists.size(); ++b)
    for (std::size_t i = 0; i <= (b + epoch) % 4; ++i)
      lists[b].push_back((seed + 7 * b + 3 * i + epoch) % 30);
  return lists;
}

}  // namespace

TEST_CASE("The plan of whole datasets and of lists is what all ranks play") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = AskedOptions(5);
  const Shuffle shuffle = GENERATE(Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential);
  options.order.shuffle = shuffle;
  RequireAsPlayed(dataset, options, 90, kAllWays);
  std::vector<std::uint64_t> list;
  for (std::uint64_t i = 0; i < 60; ++i)
    list.push_back(i * i * 7 % 90);
  options.order.samples = SampleList::Of(list);
  RequireAsPlayed(dataset, options, 90, kAllWays);
}

TEST_CASE("The plan of draws by weight and by class is what all ranks play") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = AskedOptions(5);
  std::vector<double> weights;
  for (int i = 0; i < 90; ++i)
    weights.push_back(i % 11);
  SECTION("with replacement") {
    options.order.samples = SampleList::Weighted(weights, 120, true);
  }
  SECTION("without") {
    options.order.samples = SampleList::Weighted(weights, 33, false);
  }
  SECTION("by class") {
    options.order.samples = SampleList::ClassBalanced(dataset, 13);
  }
  RequireAsPlayed(dataset, options, 90, kAllWays);
}

TEST_CASE("The plan of dealt shards is what all ranks play, repeats at the end included") {
  const TemporaryFolder folder;
  WriteTinyShards(folder / "tiny", 9);  // 18 samples: for two ranks 10 and 8, for four 6, 4, 4, 4
  LoaderOptions options = AskedOptions(3);
  options.ranks.by_shards = true;
  RequireAsPlayed(Dataset::Open(folder / "tiny"), options, 18, kAllWays);
}

TEST_CASE("The plan of composed batches comes from the function that composes them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = AskedOptions(4);
  options.order.batches = SomeLists;
  RequireAsPlayed(dataset, options, 30, {LastBatch::kKeep});
}

TEST_CASE("The plan of mixtures is what all ranks play") {
  const TemporaryFolder folder, other, third;
  const Dataset a = Dataset::Open(WriteRawDataset(folder, 60, 4));
  const Dataset b = Dataset::Open(WriteRawDataset(other, 1));
  const Dataset c = Dataset::Open(WriteRawDataset(third, 25, 4));
  Mixture mixture{{a, 0.6}, {b, 0.1}, {c, 0.3}};
  LoaderOptions options = AskedOptions(10);
  SECTION("each sample once") {
    mixture = {{a}, {b}, {c}};
  }
  SECTION("until the first dataset has been played") {}
  SECTION("a number of samples, with many passes") {
    mixture.length = MixtureLength::kSamples;
    mixture.samples = 333;
  }
  SECTION("with shares of each batch") {
    mixture.shares = MixtureShares::kOfEachBatch;
  }
  RequireAsPlayed(mixture, options, 86, kAllWays);
}

TEST_CASE("After a resume onto another world size, the plan is what the new ranks play") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90, 4));
  LoaderOptions options = AskedOptions(6);
  options.ranks = {.rank = 0, .world_size = 2};
  Loader before(dataset, options);
  PlayBatches(before, 1, 3);
  options.resume_from = before.State();
  options.batch_size = 3;
  std::vector<PlayedRow> played, planned;
  for (unsigned rank = 0; rank < 4; ++rank) {
    options.ranks = {.rank = rank, .world_size = 4};
    Loader resumed(dataset, options);
    AddPlayed(resumed, 1, played);
    AddPlayed(resumed, 2, played);
    planned = resumed.When(FirstNumbers(90), std::vector<std::uint64_t>{1, 2});
  }
  SortByPlay(played);
  std::erase_if(planned, [](const PlayedRow& row) { return row.epoch == 1 && row.batch < 3; });
  CHECK(planned == played);
}

TEST_CASE("The plan needs no loader, and images may differ in size") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40));
  LoaderOptions options = OptionsFor(8, 1);
  options.ranks = {.rank = 0, .world_size = 2};
  const std::vector<std::uint64_t> samples = {3, 39}, epochs = {0, 5};
  const std::vector<PlayedRow> planned = Loader::When(dataset, options, samples, epochs);
  CHECK(planned.size() == 4);
  options.transform = {CenterResizedCrop(16)};
  CHECK(Loader(dataset, options).When(samples, epochs) == planned);
}

TEST_CASE("A question about the plan that has no answer is an error, or empty") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 90));
  LoaderOptions options = OptionsFor(8, 1);
  options.order.samples = SampleList::Of({1, 2, 3});
  const std::vector<std::uint64_t> epochs = {0};
  const auto ask = [&](std::uint64_t sample) {
    return Loader::When(dataset, options, std::vector{sample}, epochs);
  };
  CHECK(ask(2).size() == 1);
  CHECK(ask(50).empty());
  CHECK_THAT(ErrorText([&] { ask(90); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("there is no sample 90: the dataset has 90"));
  options.resume_from = Loader(dataset, options).State();
  options.seed = 5;
  CHECK_THAT(ErrorText([&] { ask(2); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("was saved with seed = 0, and this loader has 5"));
  options.resume_from.reset();
  options.ranks.last_batch = LastBatch::kDrop;
  CHECK_THAT(ErrorText([&] { ask(2); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("epoch 0 has no batches"));
}

TEST_CASE("Row() makes rows of batches that are dropped or skipped") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = AskedOptions(8);
  options.ranks.last_batch = LastBatch::kDrop;
  options.order.skip = {{0, 1, 1}};
  Loader loader(dataset, options);
  CHECK(loader.When(FirstNumbers(30), std::vector<std::uint64_t>{0}).size() == 16);
  std::vector<bool> seen(30);
  for (std::uint64_t sample = 0; sample < 30; ++sample)
    seen[static_cast<std::size_t>(loader.Row(sample, 0).Field<std::int64_t>("position")[0])] = true;
  CHECK(std::ranges::count(seen, true) == 30);
}
