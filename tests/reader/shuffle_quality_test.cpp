// How well the quasi-random order mixes; reader/SAMPLES.md has the table.
#include <cmath>
#include <set>
#include <vector>

#include "format/random.h"
#include "reader/order/order.h"
#include "reader/order/permutation.h"
#include "tests/catch.h"
#include "tests/sanitized.h"

using namespace sluice;

namespace {

// ImageNet's number of samples, in blocks of 8 and shards of 64 MB, with 50 kB per sample.
constexpr std::uint64_t kImageNet = 1'281'167;
constexpr std::uint64_t kClasses = 1000;

DatasetShape ImageNet() {
  std::vector<DatasetShape::Shard> shards;
  for (std::uint64_t left = kImageNet; left > 0;) {
    const std::uint64_t samples = std::min<std::uint64_t>(left, 1280);
    shards.push_back({samples, (samples + 7) / 8, 8, samples * 50'000});
    left -= samples;
  }
  return DatasetShape(shards);
}

// The number of distinct classes in a batch of 1024, as the mean over 42 batches. All lanes open
// their windows at the same time, so the number varies from batch to batch with a period of 3. The
// batches are 29 apart, which is not a multiple of 3, so that the mean has as many of each phase.
// `stored(i)`: which of the class-sorted samples is stored as number i.
template <class Stored>
double DistinctClasses(const DatasetShape& shape, const OrderParameters& options, Stored stored) {
  EpochOrder order(shape, options, 0);
  std::vector<std::uint64_t> opened;
  double sum = 0;
  for (std::uint64_t b = 0; b < 42; ++b) {
    std::set<std::uint64_t> classes;
    for (std::uint64_t i = 0; i < 1024; ++i) {
      opened.clear();
      const std::uint64_t sample = order.At((b * 29 + 3) * 1024 + i, opened).index;
      classes.insert(stored(sample) * kClasses / kImageNet);
    }
    sum += double(classes.size());
  }
  return sum / 42;
}

std::vector<double> Positions(const DatasetShape& shape, const OrderParameters& options,
                              std::uint64_t epoch) {
  EpochOrder order(shape, options, epoch);
  std::vector<std::uint64_t> opened;
  std::vector<double> position(shape.samples());
  for (std::uint64_t p = 0; p < shape.samples(); ++p)
    position[order.At(p, opened).index] = double(p);
  return position;
}

// Spearman's correlation of two permutations of 0 .. n - 1.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = double(a.size() - 1) / 2;
  double product = 0;
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += (a[i] - mean) * (b[i] - mean);
    square += (a[i] - mean) * (a[i] - mean);
  }
  return product / square;
}

}  // namespace

TEST_CASE("A batch of a permuted dataset shows as many classes as independent draws", "[no-tsan]") {
  const DatasetShape shape = ImageNet();
  // Independent draws: 1000 x (1 - (1 - 1/1000)^1024).
  const double independent = kClasses * (1 - std::pow(1 - 1.0 / kClasses, 1024));
  const Permutation converted(kImageNet, 12);
  const auto permuted = [&](std::uint64_t i) { return converted(i); };
  const auto sorted = [](std::uint64_t i) { return i; };
  CHECK(independent == Approx(641).margin(0.5));
  const std::uint64_t block = 8 * 50'000;
  CHECK(DistinctClasses(shape, {Shuffle::kRandom, 1}, sorted) == Approx(independent).epsilon(0.02));
  for (const std::uint64_t blocks : {1, 2, 16}) {
    const OrderParameters options{Shuffle::kQuasiRandom, 1, 192, blocks * 192 * block};
    CHECK(DistinctClasses(shape, options, permuted) == Approx(independent).epsilon(0.02));
  }
  // A class-sorted dataset gives, by an independent simulation, 224, 345 and 597 for windows of 1,
  // 2 and 16 blocks per lane.
  CHECK(DistinctClasses(shape, {Shuffle::kQuasiRandom, 1, 192, 192 * block}, sorted) ==
        Approx(224).epsilon(0.05));
  CHECK(DistinctClasses(shape, {Shuffle::kQuasiRandom, 1, 192, 0}, sorted) ==
        Approx(345).epsilon(0.05));
  CHECK(DistinctClasses(shape, {Shuffle::kQuasiRandom, 1, 192, 16 * 192 * block}, sorted) ==
        Approx(597).epsilon(0.05));
}

TEST_CASE("Consecutive epochs are uncorrelated") {
  std::vector<DatasetShape::Shard> shards(50, {1280, 160, 8, 1280 * 50'000});
  const DatasetShape shape(shards);
  const OrderParameters options{Shuffle::kQuasiRandom, 3};
  std::vector<double> before = Positions(shape, options, 0);
  for (std::uint64_t epoch = 1; epoch < 6; ++epoch) {
    std::vector<double> position = Positions(shape, options, epoch);
    // Samples of a block stay close together, so the 8000 blocks are what varies: the standard
    // deviation is about 1 / sqrt(8000) = 0.011.
    CHECK(std::abs(RankCorrelation(before, position)) < 5 * 0.0112);
    before = std::move(position);
  }
}

TEST_CASE("With equal blocks, every sample is equally likely at every position", "[no-tsan]") {
  // 12 blocks of 3 samples in 3 lanes.
  const DatasetShape shape({{18, 6, 3, 1800}, {18, 6, 3, 1800}});
  constexpr std::size_t kN = 36;
  constexpr int kEpochs = test::kSanitized ? 3'600 : 36'000;
  for (const std::uint64_t window_blocks : {1, 2, 4}) {
    const OrderParameters options{Shuffle::kQuasiRandom, 5, 3, window_blocks * 3 * 300};
    REQUIRE(WindowBlocks(shape, options) == window_blocks);
    std::vector<int> counts(kN * kN, 0);
    std::vector<std::uint64_t> opened;
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      EpochOrder order(shape, options, static_cast<std::uint64_t>(epoch));
      opened.clear();
      for (std::size_t p = 0; p < kN; ++p)
        ++counts[order.At(p, opened).index * kN + p];
    }
    const double expected = double(kEpochs) / kN;
    double chi_square = 0;
    for (const int count : counts)
      chi_square += (count - expected) * (count - expected) / expected;
    // 35 x 35 degrees of freedom. Samples of a block are not independent, which widens the
    // distribution a little, so the bounds are five standard deviations times 1.5.
    INFO("window of " << window_blocks << " blocks: chi-square " << chi_square);
    CHECK(chi_square < 1225 + 5 * std::sqrt(2.0 * 1225) * 1.5);
    CHECK(chi_square > 1225 - 5 * std::sqrt(2.0 * 1225) * 1.5);
  }
}
