// Lists of samples to play (SampleList): given, drawn by weight, or balanced by class.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <sluice/sample_list.h>

#include "reader/order/sample_draw.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::uint64_t> Sorted(std::vector<std::uint64_t> samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

std::map<std::uint64_t, std::size_t> Counts(const std::vector<std::uint64_t>& samples) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t sample : samples)
    ++counts[sample];
  return counts;
}

}  // namespace

TEST_CASE("An epoch of a list plays each listed sample, as often as the list has it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3000));
  std::vector<std::uint64_t> list;
  for (std::uint64_t i = 0; i < 700; ++i)
    list.push_back(i * i * 7 % 3000);
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    for (const std::uint32_t lanes : {1U, 12U, 192U}) {
      LoaderOptions options = OptionsFor(64, 2);
      options.order.samples = SampleList::Of(list);
      options.order.shuffle = shuffle;
      options.order.lanes = lanes;
      Loader loader(dataset, options);
      REQUIRE((loader.samples_per_epoch() == 700 && loader.batches_per_epoch() == 11));
      const std::vector<PlayedBatch> batches = PlayBatches(loader, 0);
      const std::vector<std::uint64_t> played = SamplesOf(batches);
      REQUIRE(Sorted(played) == Sorted(list));
      REQUIRE((played == list) == (shuffle == Shuffle::kSequential));
      for (const PlayedBatch& batch : batches) {
        for (std::size_t row = 0; row < batch.samples.size(); ++row)
          REQUIRE(batch.pixels[row * 192] == batch.samples[row] % 251);
      }
    }
  }
}

TEST_CASE("Ranks share a list, resume it and pad it like a whole dataset") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 2000));
  std::vector<std::uint64_t> list;
  for (std::uint64_t i = 0; i < 1000; ++i)
    list.push_back(2 * i);
  LoaderOptions options = OptionsFor(24, 1);
  options.order.lanes = 12;
  options.order.samples = SampleList::Of(list);
  Loader alone(dataset, options);
  const std::vector<PlayedBatch> whole = PlayBatches(alone, 2);
  options.ranks.world_size = 3;
  options.batch_size = 8;
  for (options.ranks.rank = 0; options.ranks.rank < 3; ++options.ranks.rank) {
    Loader loader(dataset, options);
    const std::vector<PlayedBatch> share = PlayBatches(loader, 2);
    REQUIRE(share.size() == whole.size());
    for (std::size_t b = 0; b < share.size(); ++b) {
      for (std::size_t row = 0; row < share[b].valid; ++row)
        REQUIRE(share[b].samples[row] == whole[b].samples[3 * row + options.ranks.rank]);
    }
  }
  options.ranks.rank = 1;
  Loader loader(dataset, options);
  PlayBatches(loader, 2, 9);
  options.resume_from = loader.State();
  Loader resumed(dataset, options);
  REQUIRE(PlayBatches(resumed, 2).size() == whole.size() - 9);
  list.back() = 1;
  options.order.samples = SampleList::Of(list);
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("other samples"));
}

TEST_CASE("Only the blocks with listed samples are read ahead") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4000, 10));
  std::vector<std::uint64_t> list(100);
  for (std::uint64_t i = 0; i < 100; ++i)
    list[i] = 1000 + i;  // ten blocks
  LoaderOptions options = OptionsFor(50, 1);
  options.order.samples = SampleList::Of(list);
  options.order.lanes = 4;
  Loader loader(dataset, options);
  PlayBatches(loader, 0);
  const std::uint64_t block_bytes = 8192;  // more than 10 x (192 + 56), rounded up to pages
  // The two batches, and at most four of the next epochs.
  CHECK(loader.Stats().read_ahead_bytes <= 3 * 10 * block_bytes);
}

TEST_CASE("Weights draw in proportion, anew each epoch, with replacement") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  std::vector<double> weights(100, 0.0);
  for (std::size_t i = 0; i < 50; ++i)
    weights[i] = i < 10 ? 4.0 : 1.0;  // ten samples weigh as much as the forty others
  LoaderOptions options = OptionsFor(500, 1);
  options.order.samples = SampleList::Weighted(weights, 20'000, true);
  Loader loader(dataset, options);
  const std::vector<std::uint64_t> played = SamplesOf(PlayBatches(loader, 0));
  REQUIRE(played.size() == 20'000);
  const auto counts = Counts(played);
  REQUIRE(counts.size() == 50);
  for (const auto& [sample, count] : counts) {
    const double expected = 20'000 * weights[sample] / 80;
    CHECK(std::abs(double(count) - expected) < 5 * std::sqrt(expected));
  }
  CHECK(Counts(SamplesOf(PlayBatches(loader, 1))) != counts);
  CHECK(Counts(SamplesOf(PlayBatches(loader, 0))) == counts);
}

TEST_CASE(
    "Weights without replacement draw each sample at most once, the heavier ones more often") {
  std::vector<double> weights(1000, 1.0);
  for (std::size_t i = 0; i < 100; ++i)
    weights[i] = 9.0;
  weights[999] = 0.0;
  const WeightedDraw draw{WholeWeights(weights), 300, false};
  std::uint64_t heavy = 0;
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<std::uint64_t> samples = Draw(draw, 1, epoch);
    REQUIRE(std::set(samples.begin(), samples.end()).size() == 300);
    REQUIRE(samples.back() != 999);
    heavy += static_cast<std::uint64_t>(
        std::count_if(samples.begin(), samples.end(), [](std::uint64_t s) { return s < 100; }));
  }
  // Successive draws by weight 9 to 1: the expected number of heavy ones, h, after t of 300 draws
  // follows dh/dt = 9 (100 - h) / (9 (100 - h) + 899 - (t - h)); integrated numerically.
  double h = 0;
  for (int t = 0; t < 300; ++t)
    h += 9 * (100 - h) / (9 * (100 - h) + 899 - (t - h));
  CHECK(double(heavy) / 50 == Approx(h).epsilon(0.03));
  // All samples with a weight, if as many are requested.
  REQUIRE(Draw(WeightedDraw{WholeWeights(weights), 999, false}, 1, 0).size() == 999);
}

TEST_CASE("Weights become whole numbers in proportion, and small ones do not vanish") {
  const std::vector<std::uint64_t> whole = WholeWeights({3.0, 0.0, 1.5, 1e-300, 0.75});
  CHECK((whole[0] == 2 * whole[2] && whole[0] == 4 * whole[4]));
  CHECK((whole[1] == 0 && whole[3] == 1));
  CHECK(WholeWeights({0.0, 0.0}) == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE(
    "A class-balanced epoch has equally many samples of each class, whatever the dataset has") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "uneven";
  {
    DatasetWriter writer(path, {{Field::Image(), Field::Label("label", {"a", "b", "c", "empty"})}});
    for (int i = 0; i < 107; ++i) {  // 5 of class 0, 2 of class 1, 100 of class 2
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      const std::vector<std::uint8_t> pixels(12, static_cast<std::uint8_t>(i));
      sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
      sample.Set<std::int32_t>("label", i < 5 ? 0 : i < 7 ? 1 : 2);
      writer.Add(sample);
    }
    writer.Finish();
  }
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(36, 2);
  options.order.samples = SampleList::ClassBalanced(dataset, 12);
  Loader loader(dataset, options);
  std::set<std::vector<std::uint64_t>> of_the_third;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    std::map<std::int32_t, int> classes;
    std::vector<std::uint64_t> played;
    for (const Batch& batch : loader.Epoch(epoch)) {
      for (const std::int32_t label : batch.Field<std::int32_t>("label"))
        ++classes[label];
      played.insert(played.end(), batch.samples().begin(), batch.samples().end());
    }
    REQUIRE(classes == std::map<std::int32_t, int>{{0, 12}, {1, 12}, {2, 12}});
    std::vector<std::uint64_t> third;
    for (const auto& [sample, count] : Counts(played)) {
      if (sample < 5) REQUIRE((count == 2 || count == 3));  // 12 / 5
      if (sample == 5 || sample == 6) REQUIRE(count == 6);
      if (sample >= 7) REQUIRE(count == 1);
      if (sample >= 7) third.push_back(sample);
    }
    of_the_third.insert(third);
  }
  REQUIRE(of_the_third.size() == 5);
  CHECK_THAT(ErrorText([&] { SampleList::ClassBalanced(dataset, 3, "image"); },
                       ErrorCode::kInvalidArgument),
             ContainsSubstring("class label"));
}

TEST_CASE("Lists balanced over several labels per sample have equally many of each class") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "tags";
  Field tags = Field::Variable("tags", DType::kInt32, {});
  tags.role = Role::kLabel;
  tags.classes = {"rare", "common", "none"};
  {
    DatasetWriter writer(path, {{Field::Image(), tags}});
    for (int i = 0; i < 60; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      const std::vector<std::uint8_t> pixels(12, static_cast<std::uint8_t>(i));
      sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
      // Sample 0 has both classes, and the last ten samples have none. Class 1 is listed twice.
      std::vector<std::int32_t> numbers;
      if (i < 3) numbers.push_back(0);
      if (i == 0 || (i >= 3 && i < 50)) numbers.insert(numbers.end(), {1, 1});
      sample.SetArray<std::int32_t>("tags", numbers);
      writer.Add(sample);
    }
    writer.Finish();
  }
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(12, 2);
  options.order.samples = SampleList::ClassBalanced(dataset, 6);
  CHECK(options.order.samples.size() == 12);
  CHECK(SampleList::ClassBalanced(dataset, 6, "tags").digest() == options.order.samples.digest());
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t rare = 0;
    std::uint64_t all = 0;
    for (const Batch& batch : loader.Epoch(epoch)) {
      for (const std::uint64_t sample : batch.samples()) {
        REQUIRE(sample < 50);
        // Sample 0 may come once more for its other class.
        rare += sample == 1 || sample == 2 ? 1 : 0;
        ++all;
      }
    }
    CHECK(all == 12);
    CHECK(rare == 4);  // two of three samples, twice each
  }
}

TEST_CASE("An empty list is refused with the reason why it is empty") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  const auto refusal = [&](const SampleList& list) {
    LoaderOptions options = OptionsFor(4, 1);
    options.order.samples = list;
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(SampleList::Of({})), ContainsSubstring("SampleList::Of was given no samples"));
  CHECK_THAT(refusal(SampleList::Weighted(std::vector<double>(30, 1), 0, true)),
             ContainsSubstring("SampleList::Weighted was asked to draw 0 samples"));
  CHECK_THAT(
      refusal(SampleList::ClassBalanced(dataset, 0)),
      ContainsSubstring("SampleList::ClassBalanced was asked to draw 0 samples of each class"));
  CHECK_THAT(refusal(SampleList::Where(dataset, [](const Sample&) { return false; })),
             ContainsSubstring("the filter of SampleList::Where keeps none of 30 samples"));
}

TEST_CASE("If no sample has a class, a class-balanced list is refused with that reason") {
  const TemporaryFolder folder;
  Field tags = Field::Variable("tags", DType::kInt32, {});
  tags.role = Role::kLabel;
  tags.classes = {"rare", "common"};
  DatasetWriter writer(folder / "tags", {{Field::Image(), tags}});
  SampleBuilder sample = writer.NewSample("unlabelled");
  const std::vector<std::uint8_t> pixels(12);
  sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
  sample.SetArray<std::int32_t>("tags", {});
  writer.Add(sample);
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "tags");
  LoaderOptions options = OptionsFor(1, 1);
  options.order.samples = SampleList::ClassBalanced(dataset, 6);
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("found no sample with a label that is a class"));
}

TEST_CASE("Invalid lists, and lists of another dataset, are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  const auto refused = [&](const SampleList& list, const char* words) {
    LoaderOptions options = OptionsFor(10, 1);
    options.order.samples = list;
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(words));
  };
  refused(SampleList::Of({3, 100}), "number 100");
  refused(SampleList::Of({std::numeric_limits<std::uint64_t>::max()}), "number 184467440737095516");
  for (const std::uint64_t count : {(std::uint64_t{1} << 40) + 1, std::uint64_t{1} << 61,
                                    std::numeric_limits<std::uint64_t>::max()}) {
    refused(SampleList::Weighted(std::vector(100, 1.0), count, true), "2^40");
  }
  // Ten classes, and numbers that overflow 64 bits when multiplied by ten, to 4 and to 0.
  for (const std::uint64_t count :
       {std::uint64_t{1} << 40, UINT64_MAX / 10 + 1, UINT64_MAX / 2 + 1})
    refused(SampleList::ClassBalanced(dataset, count), "2^40");
  refused(SampleList::Weighted(std::vector(99, 1.0), 5, true), "99 samples");
  std::vector<std::uint64_t> mask(100);
  refused(SampleList::Of(mask), "as in a mask");
  mask[7] = 1;
  refused(SampleList::Of(mask), "as in a mask");
  mask.pop_back();
  LoaderOptions options = OptionsFor(10, 1);
  options.order.samples = SampleList::Of(mask);
  CHECK(Loader(dataset, options).samples_per_epoch() == 99);
  const auto nonsense = [](const std::vector<double>& weights, std::uint64_t count,
                           bool replacement, const char* words = "") {
    CHECK_THAT(ErrorText([&] { SampleList::Weighted(weights, count, replacement); },
                         ErrorCode::kInvalidArgument),
               ContainsSubstring(words));
  };
  nonsense({1, -1}, 1, true);
  nonsense({1, std::numeric_limits<double>::quiet_NaN()}, 1, true);
  nonsense({1, std::numeric_limits<double>::infinity()}, 1, true);
  nonsense({0, 0}, 1, true, "; give some sample such a weight");
  nonsense({1, 0, 1}, 3, false, "; draw fewer, or with replacement");
}
