// Options drawn at random. The batches must be those of playing the same epochs in the plainest
// way: one thread, one process, mapped shards, from the beginning to the end.
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <sluice/dataset_edit.h>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct DrawnRow {
  std::uint64_t sample = 0;
  std::uint64_t digest = 0;  // of its pixels and label
  SampleFlag flag = SampleFlag::kOwn;
  friend bool operator==(const DrawnRow&, const DrawnRow&) = default;
};
using DrawnRows = std::vector<DrawnRow>;

std::uint64_t DigestOf(const std::uint8_t* pixels, std::size_t bytes, std::int32_t label) {
  std::uint64_t digest = 14695981039346656037U + static_cast<std::uint64_t>(label);
  for (std::size_t i = 0; i < bytes; ++i)
    digest = (digest ^ pixels[i]) * 1099511628211U;
  return digest;
}

DrawnRows RowsOf(const Batch& batch) {
  const auto labels = batch.Field<std::int32_t>("label");
  const ImageBatch& image = batch.image();
  DrawnRows rows;
  for (std::size_t row = 0; row < batch.size(); ++row) {
    rows.push_back(
        {batch.samples()[row],
         DigestOf(image.data + row * image.sample_bytes(), image.sample_bytes(), labels[row]),
         batch.flags()[row]});
  }
  return rows;
}

// A dataset, and a copy of it in which some samples are damaged.
struct DrawnData {
  std::filesystem::path good;
  std::filesystem::path bad;
  std::set<std::uint64_t> damaged;
  bool jpeg = false;
};

class DrawnPlaying {
 public:
  explicit DrawnPlaying(std::uint64_t seed) : random_(seed) {
    AddRaw("one", 601, 7, {3, 77, 78, 200});
    AddRaw("several", 1200, 2, {5, 9, 10, 11, 250});  // three shards
    AddRaw("tiny", 5, 8, {2});
    AddPart("third", 90, 3);
    MergeDatasets({folder_ / "one/raw", folder_ / "third"}, folder_ / "merged");
    data_.push_back({folder_ / "merged", folder_ / "merged", {}, false});
    const std::filesystem::path jpeg = WriteJpegDataset(folder_, 150);
    data_.push_back({jpeg, jpeg, {}, true});
  }

  void Round() {
    DrawOrder();
    INFO("round " << round_++ << ": " << Text());
    const std::uint64_t epoch = Below(5);
    const std::vector<DrawnRows> first = Plain(data_[of_].good, epoch);
    const std::vector<DrawnRows> second = Plain(data_[of_].good, epoch + 1);
    for (int times = 0; times < 3; ++times) {
      if (!data_[of_].damaged.empty() && Chance(3)) {
        Faulty(epoch, first);
      } else {
        InPieces(epoch, first, second);
      }
    }
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }

  // `damaged` are among the samples 1 to 250. Their colours differ and are not black, so that
  // DamageIn() finds them.
  void AddRaw(const char* name, int count, std::uint32_t block_samples,
              std::set<std::uint64_t> damaged) {
    const std::filesystem::path bad = folder_ / (std::string(name) + "-bad");
    std::filesystem::create_directory(folder_ / name);
    const std::filesystem::path good = WriteRawDataset(folder_, count, block_samples);
    std::filesystem::copy(good, bad);
    std::filesystem::rename(good, folder_ / name / "raw");
    const Dataset dataset = Dataset::Open(bad);
    for (const std::uint64_t sample : damaged) {
      std::uint64_t before = 0;
      for (const ShardSummary& shard : dataset.shards()) {
        if (sample < before + shard.samples) {
          DamageIn(bad / shard.file, sample);
          break;
        }
        before += shard.samples;
      }
    }
    data_.push_back({folder_ / name / "raw", bad, std::move(damaged), false});
  }

  // Pictures that the other datasets do not have, so that this one can be merged with them.
  void AddPart(const char* name, int count, std::uint32_t block_samples) {
    const Schema schema = Dataset::Open(folder_ / "one/raw").schema();
    DatasetWriter writer(folder_ / name, schema, {name, 1'000'000, block_samples});
    for (int i = 0; i < count; ++i) {
      SampleBuilder sample = writer.NewSample(name + std::to_string(i));
      const std::vector<std::uint8_t> pixels(8 * 8 * 3, static_cast<std::uint8_t>(3 * i));
      sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
      sample.Set<std::int32_t>("label", i % 10);
      writer.Add(sample);
    }
    writer.Finish();
  }

  SampleList AnyList(const Dataset& dataset) {
    if (!Chance(3)) return {};
    const std::uint64_t count = Below(2 * dataset.size());
    switch (Below(4)) {
      case 0: {
        std::vector<std::uint64_t> samples(count);
        for (std::uint64_t& sample : samples)
          sample = Below(dataset.size());
        return SampleList::Of(std::move(samples));
      }
      case 1: {
        std::vector<double> weights(dataset.size());
        for (double& weight : weights)
          weight = double(Below(9));
        weights[0] = 1;
        return SampleList::Weighted(weights, count, true);
      }
      case 2: return SampleList::ClassBalanced(dataset, 1 + Below(40));
      default:
        return SampleList::Where(dataset, [](const Sample& sample) {
          return sample.Array<std::int32_t>("label")[0] % 2 == 0;
        });
    }
  }

  // Options on which the batches depend.
  void DrawOrder() {
    of_ = Below(data_.size());
    const Dataset dataset = Dataset::Open(data_[of_].good);
    order_ = LoaderOptions();
    order_.order.shuffle = Chance(4)   ? Shuffle::kRandom
                           : Chance(4) ? Shuffle::kSequential
                                       : Shuffle::kQuasiRandom;
    order_.seed = Below(1000);
    constexpr std::uint32_t kLanes[] = {1, 2, 6, 12, 24, 192};
    order_.order.lanes = kLanes[Below(6)];
    if (Chance(2)) order_.order.window_bytes = 1 + Below(3'000'000);
    order_.ranks.last_batch = Chance(2)   ? LastBatch::kKeep
                              : Chance(2) ? LastBatch::kDrop
                                          : LastBatch::kPad;
    order_.order.samples = AnyList(dataset);
    order_.integrity.on_fault = OnFault::kError;
    order_.ranks.world_size = 1;
    constexpr std::size_t kGlobal[] = {1, 12, 24, 60};
    global_ = kGlobal[Below(4)];
    order_.batch_size = global_;
    // An epoch without batches is refused.
    if (!order_.order.samples.all() && order_.order.samples.size() == 0)
      order_.order.samples = SampleList();
    const std::uint64_t count =
        order_.order.samples.all() ? dataset.size() : order_.order.samples.size();
    if (count < global_) order_.ranks.last_batch = LastBatch::kKeep;
    rows_are_fixed_ = Chance(2);
    if (data_[of_].jpeg) {
      order_.transform = {Resize(20, 12), HorizontalFlip()};
      if (!rows_are_fixed_) order_.transform = {RandomResizedCrop(16), HorizontalFlip()};
    } else if (!rows_are_fixed_) {
      order_.transform = {RandomCrop(6, 2), HorizontalFlip()};
    }
  }

  std::string Text() const {
    return data_[of_].good.string() + ", shuffle " + std::to_string(int(order_.order.shuffle)) +
           ", seed " + std::to_string(order_.seed) + ", lanes " +
           std::to_string(order_.order.lanes) + ", window " +
           std::to_string(order_.order.window_bytes) + " bytes, last " +
           std::to_string(int(order_.ranks.last_batch)) + ", list of " +
           std::to_string(order_.order.samples.size()) + ", global batch " +
           std::to_string(global_);
  }

  // Options on which the batches do not depend.
  LoaderOptions AnyWay() {
    LoaderOptions options = order_;
    if (const auto threads = static_cast<unsigned>(Below(6)); threads > 0)
      options.threads = threads;
    options.ring.prefetch.reset();
    if (const std::size_t prefetch = Below(5); prefetch > 0) options.ring.prefetch = prefetch;
    options.ring.hold = Below(3);
    std::optional<std::uint64_t> ahead;
    if (Chance(4)) ahead = 1 << 20;
    options.storage = Mapped{ahead};
    options.integrity.verify = Chance(2)   ? Verify::kAlways
                               : Chance(2) ? Verify::kAuto
                                           : Verify::kNever;
    if (options.order.shuffle != Shuffle::kRandom && Chance(2)) options.storage = Direct{ahead};
    if (Chance(3)) {
      options.storage = Mapped{ahead};
      options.stage = Stage{(folder_ / "stage").string(), 1 + Below(4'000'000)};
    }
    if (data_[of_].jpeg && rows_are_fixed_ && Chance(2)) {
      options.keep = DecodedPictures{1 + Below(200'000)};
      if (Chance(2)) options.keep->folder = folder_.path().string();
    } else if (Chance(6)) {
      options.output.fields = {"label", "image"};
    }
    return options;
  }

  // A number of ranks that divides lanes and global batch evenly.
  unsigned AnyRanks() {
    std::vector<unsigned> fitting;
    for (unsigned ranks = 1; ranks <= global_; ++ranks) {
      const bool lanes =
          order_.order.shuffle != Shuffle::kQuasiRandom || order_.order.lanes % ranks == 0;
      if (global_ % ranks == 0 && lanes && ranks <= 12) fitting.push_back(ranks);
    }
    return fitting[Below(fitting.size())];
  }

  std::vector<DrawnRows> Plain(const std::filesystem::path& path, std::uint64_t epoch,
                               OnFault on_fault = OnFault::kError) {
    LoaderOptions options = order_;
    options.threads = 1;
    options.integrity.on_fault = on_fault;
    options.integrity.verify = Verify::kAlways;
    Loader loader(Dataset::Open(path), options);
    std::vector<DrawnRows> batches;
    for (const Batch& batch : loader.Epoch(epoch))
      batches.push_back(RowsOf(batch));
    return batches;
  }

  // A rank's share of a global batch, without the rows that only fill up the last batch for this
  // number of ranks.
  static DrawnRows ShareOf(const DrawnRows& global, unsigned rank, unsigned ranks) {
    DrawnRows rows;
    for (std::size_t row = rank; row < global.size(); row += ranks)
      rows.push_back(global[row]);
    return rows;
  }

  // With kKeep, a last batch that cannot be shared evenly may give the rank a filler row.
  void RequireShare(DrawnRows played, const DrawnRows& expected) const {
    if (order_.ranks.last_batch == LastBatch::kKeep && played.size() == expected.size() + 1) {
      REQUIRE(played.back().flag == SampleFlag::kFillsUp);
      played.pop_back();
    }
    REQUIRE(played == expected);
  }

  std::vector<Loader> MakeRanks(const Dataset& dataset, LoaderOptions options, unsigned ranks) {
    options.ranks.world_size = ranks;
    options.batch_size = global_ / ranks;
    std::vector<Loader> loaders;
    for (options.ranks.rank = 0; options.ranks.rank < ranks; ++options.ranks.rank)
      loaders.emplace_back(dataset, options);
    return loaders;
  }

  // Two epochs in pieces; each piece is played with its own ranks and options.
  void InPieces(std::uint64_t epoch, const std::vector<DrawnRows>& first,
                const std::vector<DrawnRows>& second) {
    const Dataset dataset = Dataset::Open(data_[of_].good);
    std::uint64_t at_epoch = epoch;
    std::uint64_t at = 0;
    std::optional<ResumePoint> state;
    while (at_epoch < epoch + 2) {
      const std::vector<DrawnRows>& expected = at_epoch == epoch ? first : second;
      LoaderOptions options = AnyWay();
      options.resume_from = state;
      const unsigned ranks = AnyRanks();
      std::vector<Loader> loaders = MakeRanks(dataset, options, ranks);
      REQUIRE(loaders[0].batches_per_epoch(at_epoch) == expected.size());
      if (Chance(4)) loaders[0].Epoch(at_epoch + 17);  // which is then left
      const std::uint64_t count =
          Chance(2) ? expected.size() - at : Below(expected.size() + 1 - at);
      std::vector<EpochIterator> places;
      for (Loader& loader : loaders) {
        const EpochRange range = loader.Epoch(at_epoch);
        if (count > 0) places.push_back(range.begin());
      }
      for (std::uint64_t batch = 0; batch < count; ++batch) {
        for (unsigned rank = 0; rank < ranks; ++rank) {
          EpochIterator& place = places[rank];
          if (batch > 0) ++place;
          REQUIRE_FALSE(place == std::default_sentinel);
          REQUIRE(place->epoch() == at_epoch);
          REQUIRE(place->index() == at + batch);
          RequireShare(RowsOf(*place), ShareOf(expected[at + batch], rank, ranks));
        }
      }
      at += count;
      if (at == expected.size()) {
        for (EpochIterator& place : places) {
          ++place;
          REQUIRE(place == std::default_sentinel);
        }
        ++at_epoch;
        at = 0;
      }
      state = ResumePoint::Parse(loaders[Below(ranks)].State().Text());
      for (const Loader& loader : loaders)
        REQUIRE(loader.State() == *state);
      REQUIRE(state->epoch == at_epoch);
      REQUIRE(state->position == at * global_);
    }
  }

  // An epoch of the damaged dataset, by a policy drawn at random.
  void Faulty(std::uint64_t epoch, const std::vector<DrawnRows>& good) {
    const DrawnData& data = data_[of_];
    const Dataset dataset = Dataset::Open(data.bad);
    LoaderOptions options = AnyWay();
    options.stage.reset();
    options.integrity.verify = Verify::kAlways;
    const OnFault policies[] = {OnFault::kError, OnFault::kSkip, OnFault::kSubstitute};
    options.integrity.on_fault = policies[Below(3)];
    // An epoch all of whose samples are damaged is an error, and such epochs are left out. So are
    // short ones, of which a rank may have no other samples.
    if (order_.order.samples.size() < 20 && (!order_.order.samples.all() || dataset.size() < 20))
      return;
    const auto is_damaged = [&](const DrawnRow& row) { return data.damaged.count(row.sample) > 0; };
    if (std::ranges::all_of(
            good, [&](const DrawnRows& batch) { return std::ranges::all_of(batch, is_damaged); })) {
      return;
    }
    const std::vector<DrawnRows> substituted = options.integrity.on_fault == OnFault::kSubstitute
                                                   ? Plain(data.bad, epoch, OnFault::kSubstitute)
                                                   : std::vector<DrawnRows>();
    const unsigned ranks = AnyRanks();
    std::vector<Loader> loaders = MakeRanks(dataset, options, ranks);
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const EpochRange range = loaders[rank].Epoch(epoch);
      std::optional<EpochIterator> place;
      for (std::size_t b = 0; b < good.size(); ++b) {
        DrawnRows expected = ShareOf(good[b], rank, ranks);
        const bool any = std::any_of(expected.begin(), expected.end(), is_damaged);
        bool thrown = false;
        try {
          if (place) {
            ++*place;
          } else {
            place.emplace(range.begin());
          }
        } catch (const Error& error) {
          REQUIRE(error.code() == ErrorCode::kCorrupt);
          thrown = true;
        }
        if (options.integrity.on_fault == OnFault::kError) {
          // A filler row may be damaged, too.
          if (!any && thrown && b + 1 == good.size() && good[b].size() % ranks != 0) continue;
          REQUIRE(thrown == any);
          if (thrown) continue;
        }
        REQUIRE_FALSE(thrown);
        if (options.integrity.on_fault == OnFault::kSkip) {
          expected.erase(std::remove_if(expected.begin(), expected.end(), is_damaged),
                         expected.end());
        }
        if (!substituted.empty()) expected = ShareOf(substituted[b], rank, ranks);
        RequireShare(RowsOf(**place), expected);
      }
    }
  }

  TemporaryFolder folder_;
  std::vector<DrawnData> data_;
  std::mt19937_64 random_;
  std::uint64_t round_ = 0;
  // Drawn in each round:
  std::size_t of_ = 0;  // the number of the dataset
  LoaderOptions order_;
  std::size_t global_ = 1;  // the batch size over all ranks
  // Whether no step before the flip is random, so that decoded rows can be kept.
  bool rows_are_fixed_ = false;
};

}  // namespace

TEST_CASE("Whatever options are drawn, the batches are those of plain playing") {
  DrawnPlaying playing(6);
  for (int round = 0; round < (kSanitized ? 5 : 12); ++round)
    playing.Round();
}

TEST_CASE("Five minutes of drawn options give the batches of plain playing", "[slow]") {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  INFO("seed " << seed);
  DrawnPlaying playing(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::chrono::steady_clock::now() < end)
    playing.Round();
}
