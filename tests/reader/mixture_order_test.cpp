// How the datasets of a mixture by weight take turns: reader/order/mixture_order.h.
#include "reader/order/mixture_order.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include <sluice/error.h>

#include "tests/catch.h"

using namespace sluice;

namespace {

DatasetShape ShapeOfSamples(std::uint64_t samples, std::uint64_t block_samples = 16) {
  return DatasetShape(
      {{samples, (samples + block_samples - 1) / block_samples, block_samples, samples * 1000}});
}

// A mixture of datasets of these numbers of samples, and the samples of its epochs.
struct MixedEpochs {
  MixedEpochs(const std::vector<std::uint64_t>& sizes, MixtureParameters parameters,
              Shuffle shuffle = Shuffle::kQuasiRandom) {
    std::vector<DatasetShape> shapes;
    std::vector<DatasetShape::Shard> shards;
    for (const std::uint64_t size : sizes) {
      shapes.push_back(ShapeOfSamples(size));
      shards.push_back(shapes.back().shards()[0]);
    }
    options = {shuffle, 11, parameters.lanes, 0};
    whole.emplace(std::move(shards));
    plan = std::make_shared<MixturePlan>(std::move(shapes), parameters);
  }
  EpochOrder Order(std::uint64_t epoch) const {
    return EpochOrder(*whole, options, epoch, MixturePart{plan});
  }
  std::vector<std::uint64_t> Epoch(std::uint64_t epoch) const {
    EpochOrder order = Order(epoch);
    std::vector<std::uint64_t> opened, samples;
    for (std::uint64_t p = 0; p < plan->positions(); ++p)
      samples.push_back(order.At(p, opened).index);
    return samples;
  }
  OrderParameters options;
  std::optional<DatasetShape> whole;
  std::shared_ptr<const MixturePlan> plan;
};

// `samples`: of an epoch; 0: it ends with the first dataset.
MixtureParameters Weights(std::vector<double> weights, std::uint64_t samples = 0) {
  MixtureParameters parameters{std::move(weights)};
  parameters.lanes = 24;
  parameters.length = samples == 0 ? MixtureLength::kFirst : MixtureLength::kSamples;
  parameters.samples = samples;
  return parameters;
}

}  // namespace

TEST_CASE("Each part of a mixture has its share of an epoch, and of any stretch of the epoch") {
  const std::uint64_t length = GENERATE(1, 100, 9973);
  const std::vector<double> weights = {0.7, 0.2, 0.07, 0.03};
  const MixedEpochs mixed({4000, 1000, 30, 1}, Weights(weights, length));
  const std::vector<std::uint64_t> samples = mixed.Epoch(2);
  REQUIRE(samples.size() == length);
  const std::vector<std::uint64_t> ends = {4000, 5000, 5030, 5031};
  std::vector<double> counts(4);
  double worst = 0;
  for (std::size_t p = 0; p < samples.size(); ++p) {
    const auto part = static_cast<std::size_t>(
        std::upper_bound(ends.begin(), ends.end(), samples[p]) - ends.begin());
    ++counts[part];
    for (std::size_t k = 0; k < 4; ++k)
      worst = std::max(worst, std::abs(counts[k] - weights[k] * static_cast<double>(p + 1)));
  }
  // A row of `lanes` positions has each part's share, to within one or two turns. Within a row, and
  // in the tail, the turns come in random order. (If each turn were drawn by itself, three standard
  // deviations would be 137.)
  CHECK(worst <= 24);
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(std::abs(counts[k] - weights[k] * static_cast<double>(length)) < 1);
}

TEST_CASE("Each sample of a mixture's part comes once before any comes again, across all epochs") {
  const std::vector<std::uint64_t> sizes = {500, 77, 1};
  const MixedEpochs mixed(sizes, Weights({5, 3, 1}, 400));
  std::vector<std::vector<std::uint64_t>> played(3);
  for (std::uint64_t epoch = 0; epoch < 9; ++epoch) {
    for (const std::uint64_t sample : mixed.Epoch(epoch))
      played[sample < 500 ? 0 : sample < 577 ? 1 : 2].push_back(sample);
  }
  // 9 epochs of 400 samples, by weights that add up to 9. Each epoch's shares are rounded.
  const std::vector<std::uint64_t> draws = {2000, 1200, 400};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(std::abs(static_cast<double>(played[k].size()) - static_cast<double>(draws[k])) <= 9);
    std::map<std::uint64_t, std::uint64_t> times;
    for (const std::uint64_t sample : played[k])
      ++times[sample];
    CHECK(times.size() == sizes[k]);
    const auto [least, most] =
        std::minmax_element(times.begin(), times.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    CHECK(most->second - least->second <= 1);
  }
}

TEST_CASE("A mixture's epoch ends with the first dataset, or with the shortest") {
  MixtureParameters parameters = Weights({1, 2});
  const MixedEpochs first({300, 450}, parameters);
  std::vector<std::uint64_t> samples = first.Epoch(4);
  CHECK(samples.size() == 900);
  std::sort(samples.begin(), samples.end());
  for (std::uint64_t s = 0; s < 300; ++s)
    CHECK(samples[s] == s);
  parameters.length = MixtureLength::kShortest;
  const MixedEpochs shortest({300, 450}, parameters);
  samples = shortest.Epoch(4);
  CHECK(samples.size() == 675);  // 450 / 2 of the first
  CHECK(std::set(samples.begin(), samples.end()).size() == 675);
}

TEST_CASE("A mixture's part is shuffled anew each time it begins again") {
  const MixedEpochs mixed({200, 100}, Weights({1, 1}));
  std::vector<std::uint64_t> second;
  for (const std::uint64_t sample : mixed.Epoch(0))
    if (sample >= 200) second.push_back(sample);
  REQUIRE(second.size() == 200);
  CHECK_FALSE(std::equal(second.begin(), second.begin() + 100, second.begin() + 100));
}

TEST_CASE("The positions of a mixture can be looked up in any order") {
  const auto shuffle = GENERATE(Shuffle::kQuasiRandom, Shuffle::kRandom);
  const MixedEpochs mixed({3000, 50, 1}, Weights({3, 2, 1}), shuffle);
  const std::vector<std::uint64_t> samples = mixed.Epoch(1);
  EpochOrder order = mixed.Order(1);
  std::vector<std::uint64_t> opened;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t position = i * 7919 % samples.size();
    CHECK(order.At(position, opened).index == samples[position]);
  }
}

TEST_CASE("A rank of a mixture opens only the blocks of its own lanes") {
  // 1536 samples in blocks of 16: 4 blocks for each of 24 lanes, and all lanes end together.
  MixtureParameters parameters = Weights({1, 1});
  const MixedEpochs mixed({1536, 3072}, parameters);
  for (const unsigned ranks : {2U, 4U}) {
    std::vector<unsigned> readers(mixed.whole->blocks());
    for (unsigned rank = 0; rank < ranks; ++rank) {
      EpochOrder order = mixed.Order(0);
      std::vector<std::uint64_t> opened;
      for (std::uint64_t p = rank; p < mixed.plan->positions(); p += ranks)
        order.At(p, opened);
      std::sort(opened.begin(), opened.end());
      opened.erase(std::unique(opened.begin(), opened.end()), opened.end());
      for (const std::uint64_t block : opened)
        ++readers[block];
    }
    CHECK(std::count(readers.begin(), readers.begin() + 96, 1) == 96);
    CHECK(std::count_if(readers.begin(), readers.end(), [](unsigned n) { return n > 1; }) == 0);
  }
}

TEST_CASE("If requested, each rank's batch has its share of each dataset") {
  MixtureParameters parameters = Weights({3, 1});
  parameters.shares = MixtureShares::kOfEachBatch;
  std::vector<std::vector<std::uint64_t>> global;  // the first 32 samples, by number of ranks
  for (const unsigned ranks : {1U, 2U, 4U}) {
    parameters.batch_size = 32 / ranks;
    parameters.world_size = ranks;
    const MixedEpochs mixed({900, 400}, parameters);
    const std::vector<std::uint64_t> samples = mixed.Epoch(3);
    REQUIRE(samples.size() == 38 * 32);  // 900 / 24, rounded up
    for (std::size_t b = 0; b < 38; ++b) {
      for (unsigned rank = 0; rank < ranks; ++rank) {
        std::size_t of_second = 0;
        for (std::size_t i = rank; i < 32; i += ranks)
          of_second += samples[b * 32 + i] >= 900 ? 1 : 0;
        CHECK(of_second == 8 / ranks);
      }
    }
    std::vector<std::uint64_t> first(samples.begin(), samples.begin() + 32);
    std::sort(first.begin(), first.end());
    global.push_back(first);
  }
  CHECK(global[0] == global[1]);
  CHECK(global[0] == global[2]);
}

TEST_CASE("A dataset of one sample is mixed with one of a million, in an epoch far ahead") {
  const MixedEpochs mixed({1, 1'000'003}, Weights({0.5, 0.5}, 200'000));
  EpochOrder order = mixed.Order(1'000'000'007);
  std::vector<std::uint64_t> opened;
  std::uint64_t ones = 0;
  for (std::uint64_t p = 0; p < 200'000; p += 10) {
    const SampleRef ref = order.At(p, opened);
    ones += ref.shard == 0 ? 1 : 0;
    CHECK(ref.index < 1'000'004);
  }
  CHECK(ones > 9500);
  CHECK(ones < 10'500);
}

TEST_CASE("The remainder of an apportioned number goes to the largest fractions") {
  CHECK(Apportion(10, {1, 1, 1}) == std::vector<std::uint64_t>{4, 3, 3});
  CHECK(Apportion(7, {1, 5, 4}) == std::vector<std::uint64_t>{1, 3, 3});  // of 0.7, 3.5, 2.8
  CHECK(Apportion(0, {2, 3}) == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE("Mixtures that cannot be played are refused") {
  const auto refused = [](std::vector<std::uint64_t> sizes, const MixtureParameters& parameters,
                          const std::string& why) {
    CHECK_THROWS_WITH(MixedEpochs(std::move(sizes), parameters),
                      Catch::Matchers::ContainsSubstring(why));
  };
  refused({10, 10}, Weights({1, -1}), "the weight of dataset 1 is not a number above 0");
  refused({10, 10}, Weights({NAN, 1}), "the weight of dataset 0 is not a number above 0");
  MixtureParameters none = Weights({1, 1});
  none.length = MixtureLength::kSamples;
  refused({10, 10}, none, "an epoch must have 1 to 2^48 samples");
  refused({1'000'000'000, 1'000'000}, Weights({1e-12, 1}), "more than 2^48 samples");
  MixtureParameters large = Weights({1, 1}, 96'000'000'000);
  large.most_bytes = 1'000'000'000;
  refused({10, 10}, large, "takes 24000 MB, and there are 1000 MB of memory left; raise");
  MixtureParameters batches = Weights({9, 1});
  batches.shares = MixtureShares::kOfEachBatch;
  batches.batch_size = 4;
  refused({10, 10}, batches, "dataset 1's share of a batch of 4 is less than a sample");
}
