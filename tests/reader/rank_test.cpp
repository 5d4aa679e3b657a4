// Ranks: several processes share each epoch's global batches, and find their rank in the launcher's
// variables.
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// The shares of an epoch that `world_size` ranks get.
std::vector<std::vector<PlayedBatch>> PlayRanks(const Dataset& dataset, LoaderOptions options,
                                                unsigned world_size, std::uint64_t epoch) {
  std::vector<std::vector<PlayedBatch>> ranks;
  options.ranks.world_size = world_size;
  for (options.ranks.rank = 0; options.ranks.rank < world_size; ++options.ranks.rank) {
    Loader loader(dataset, options);
    REQUIRE(loader.rank() == Rank{options.ranks.rank, world_size});
    ranks.push_back(PlayBatches(loader, epoch));
    if (options.resume_from) continue;  // only the rest of the epoch was played
    REQUIRE(ranks.back().size() == loader.batches_per_epoch(epoch));
    std::size_t samples = 0;
    for (const PlayedBatch& batch : ranks.back())
      samples += batch.samples.size();
    REQUIRE(samples == loader.samples_per_epoch(epoch));
  }
  return ranks;
}

// Joins the ranks' batches to global batches. Row j of a global batch is row j / W of rank j mod W.
// Filler rows are left out.
std::vector<PlayedBatch> Together(const std::vector<std::vector<PlayedBatch>>& ranks) {
  std::vector<PlayedBatch> global;
  for (std::size_t b = 0; b < ranks[0].size(); ++b) {
    PlayedBatch batch{ranks[0][b].epoch, ranks[0][b].index, 0, {}, {}};
    for (std::size_t row = 0; row < ranks[0][b].samples.size(); ++row) {
      for (const std::vector<PlayedBatch>& rank : ranks) {
        const PlayedBatch& share = rank[b];
        REQUIRE(share.samples.size() == ranks[0][b].samples.size());
        if (row >= share.valid) continue;
        const std::size_t bytes = share.pixels.size() / share.samples.size();
        const auto pixels = share.pixels.begin() + std::ptrdiff_t(row * bytes);
        batch.samples.push_back(share.samples[row]);
        batch.pixels.insert(batch.pixels.end(), pixels, pixels + std::ptrdiff_t(bytes));
        ++batch.valid;
      }
    }
    global.push_back(batch);
  }
  return global;
}

void RequireNoneTwice(std::vector<std::uint64_t> samples, std::uint64_t count) {
  REQUIRE(samples.size() == count);
  REQUIRE(std::set(samples.begin(), samples.end()).size() == count);
}

// Sets variables while an object lives, and unsets those of all other launchers.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name : kNames)
      unsetenv(name);
    for (const auto& [name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const char* name : kNames)
      unsetenv(name);
  }

 private:
  static constexpr const char* kNames[] = {
      "RANK",     "WORLD_SIZE",   "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
      "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
};

}  // namespace

TEST_CASE("The global batches have the same bytes for every number of ranks, in every order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 201));
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    for (const LastBatch last : {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
      LoaderOptions options = OptionsFor(24, 1);
      options.order.shuffle = shuffle;
      options.ranks.last_batch = last;
      options.order.lanes = 12;
      options.transform = {RandomResizedCrop(16), HorizontalFlip()};
      const std::vector<PlayedBatch> alone = Together(PlayRanks(dataset, options, 1, 3));
      REQUIRE(alone.size() == (last == LastBatch::kDrop ? 8 : 9));
      for (const unsigned world_size : {3U, 4U, 2U, 12U}) {
        if (kSanitized && world_size == 2) break;
        options.batch_size = 24 / world_size;
        REQUIRE(Together(PlayRanks(dataset, options, world_size, 3)) == alone);
      }
    }
  }
}

TEST_CASE("Ranks have the same number of batches of equal size, whatever the remainder") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 41));
  for (const std::size_t batch_size : {1U, 3U, 10U, 11U}) {
    for (const LastBatch last : {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
      LoaderOptions options = OptionsFor(batch_size, 1);
      options.ranks.last_batch = last;
      options.order.lanes = 8;
      if (last == LastBatch::kDrop && batch_size == 11) continue;  // no rank has a whole batch
      const auto ranks = PlayRanks(dataset, options, 4, 0);
      std::vector<std::uint64_t> valid;
      std::uint64_t rows = 0;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        REQUIRE(ranks[rank].size() == ranks[0].size());
        for (std::size_t b = 0; b < ranks[rank].size(); ++b) {
          const PlayedBatch& batch = ranks[rank][b];
          REQUIRE(batch.samples.size() == ranks[0][b].samples.size());
          rows += batch.samples.size();
          valid.insert(valid.end(), batch.samples.begin(),
                       batch.samples.begin() + std::ptrdiff_t(batch.valid));
        }
      }
      if (last == LastBatch::kDrop) {
        RequireNoneTwice(valid, 41 / (4 * batch_size) * 4 * batch_size);
        REQUIRE(rows == valid.size());
      } else {
        RequireNoneTwice(valid, 41);
      }
      if (last == LastBatch::kKeep) REQUIRE(rows == 44);  // 41, rounded up to a multiple of 4
    }
  }
}

TEST_CASE(
    "If there are more ranks than samples, each gets a batch, and surplus rows only fill up") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3));
  LoaderOptions options = OptionsFor(8, 1);
  options.order.lanes = 4;
  const auto ranks = PlayRanks(dataset, options, 4, 0);
  RequireNoneTwice(SamplesOf(Together(ranks)), 3);
  REQUIRE((ranks[3][0].valid == 0 && ranks[3][0].samples == ranks[0][0].samples));
}

TEST_CASE("Ranks that would all get no batch are refused with advice") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 41));
  LoaderOptions options = OptionsFor(11, 1);
  options.ranks.last_batch = LastBatch::kDrop;
  options.order.lanes = 64;
  options.ranks.world_size = 4;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("it has 41 samples, 10 for the rank of 4 with the fewest") &&
                 ContainsSubstring("make batch_size at most 10"));
  options.batch_size = 1;
  options.ranks.world_size = 64;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("use fewer ranks (LoaderOptions::ranks.world_size)"));
}

TEST_CASE(
    "An epoch whose deal of whole shards leaves a rank without a batch is refused when it begins") {
  const TemporaryFolder folder;
  // Shards of about 10, 10 and 30 samples. Each of two ranks gets at least 20 samples, unless the
  // large shard is dealt last: then one rank gets only 10.
  DatasetWriter writer(folder / "d", {{Field::Label(), Field::Bytes("blob")}}, {"d", 1'000'000, 1});
  for (int i = 0; i < 50; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.Set<std::int32_t>("label", i);
    const std::vector<std::byte> blob(i < 20 ? 96'000 : 30'000, std::byte(i));
    sample.SetBytes("blob", blob);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "d");
  REQUIRE(dataset.shards().size() == 3);
  LoaderOptions options = OptionsFor(15, 1);
  options.ranks.last_batch = LastBatch::kDrop;
  options.ranks.by_shards = true;
  options.ranks.world_size = 2;
  std::optional<Loader> loader;
  for (; !loader; ++options.seed) {
    REQUIRE(options.seed < 100);
    try {
      loader.emplace(dataset, options);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring("epoch 0 has no batch"));
    }
  }
  std::size_t played = 0, refused = 0;
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
    if (loader->batches_per_epoch(epoch) > 0) {
      played += PlayBatches(*loader, epoch).empty() ? 0 : 1;
      continue;
    }
    ++refused;
    CHECK_THAT(ErrorText([&] { loader->Epoch(epoch); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("epoch " + std::to_string(epoch) + " has no batch"));
  }
  CHECK((refused > 0 && played == 30 - refused));
}

TEST_CASE("A resume may change the number of ranks") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 150));
  LoaderOptions options = OptionsFor(24, 2);
  options.order.lanes = 12;
  options.transform = {RandomResizedCrop(16)};
  const std::vector<PlayedBatch> alone = Together(PlayRanks(dataset, options, 1, 2));
  options.ranks.world_size = 3;
  options.ranks.rank = 1;
  options.batch_size = 8;
  Loader interrupted(dataset, options);
  PlayBatches(interrupted, 2, 4);
  REQUIRE(interrupted.State().position == 4 * 24);
  options.resume_from = interrupted.State();
  options.batch_size = 6;
  REQUIRE(Together(PlayRanks(dataset, options, 4, 2)) ==
          std::vector(alone.begin() + 4, alone.end()));
  options.batch_size = 7;
  options.ranks.world_size = 4;
  options.ranks.rank = 0;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("batch_size x world_size = 28"));
}

TEST_CASE("A rank reads its own lanes' blocks and, in the tail, those of its samples") {
  const TemporaryFolder folder;
  // 6000 samples in blocks of 5: 1200 blocks, 50 for each of 24 lanes.
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 6000, 5));
  std::uint64_t block_bytes = 0;  // of the largest; all are about as large
  for (const ShardSummary& shard : dataset.shards())
    block_bytes = std::max(block_bytes, shard.bytes / shard.blocks);
  LoaderOptions options = OptionsFor(10, 1);
  options.order.lanes = 24;
  for (const unsigned world_size : {1U, 2U, 4U, 8U}) {
    options.ranks.world_size = world_size;
    for (options.ranks.rank = 0; options.ranks.rank < world_size; ++options.ranks.rank) {
      Loader loader(dataset, options);
      std::vector<std::uint64_t> own;
      std::set<std::uint64_t> blocks;
      std::uint64_t read = 0;
      for (const Batch& batch : loader.Epoch(0)) {
        for (const std::uint64_t sample : batch.samples())
          blocks.insert(sample / 5);
        // Later, the loader also reads for the next epoch, of which it plans only as many batches
        // as the ring has free slots.
        if (batch.index() + 5 == loader.batches_per_epoch()) read = loader.Stats().read_ahead_bytes;
      }
      // A lane has 50 blocks, and its rank 24 / W lanes; the tail has fewer than 24 x 5 samples, of
      // which the rank takes every W-th.
      const std::uint64_t most = 1200 / world_size + 24 * 5 / world_size + 1;
      INFO("ranks " << world_size << ", blocks " << blocks.size() << ", read " << read);
      REQUIRE(blocks.size() <= most);
      REQUIRE(read <= most * (block_bytes + 4096));
      REQUIRE(read >= (1200 / world_size - 24) * 4096);
    }
  }
}

TEST_CASE("Ranks that do not divide the lanes, and other invalid ranks, are refused with advice") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  const auto refused = [&](unsigned rank, unsigned world_size, bool shards, const char* words) {
    LoaderOptions options = OptionsFor(10, 1);
    options.ranks.rank = rank;
    options.ranks.world_size = world_size;
    options.ranks.by_shards = shards;
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(words));
  };
  refused(0, 5, false, "such as 195");
  refused(4, 4, false, "less than world_size");
  refused(1, 0, false, "world_size is not; set both");
  refused(0, 2, true, "has 1 for 2 ranks");
  LoaderOptions options = OptionsFor(10, 1);
  options.ranks.world_size = 5;
  options.order.shuffle = Shuffle::kRandom;
  Loader(dataset, options);  // has no lanes
}

TEST_CASE("Whole shards are dealt to ranks anew each epoch, each shard to one rank") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 60'000, 16));
  REQUIRE(dataset.shards().size() >= 6);
  std::vector<std::uint64_t> ends;  // one past each shard's last sample
  for (const ShardSummary& shard : dataset.shards())
    ends.push_back((ends.empty() ? 0 : ends.back()) + shard.samples);
  LoaderOptions options = OptionsFor(500, 2);
  options.ranks.by_shards = true;
  std::set<std::vector<std::set<std::size_t>>> deals;
  for (const LastBatch last : {LastBatch::kKeep, LastBatch::kPad, LastBatch::kDrop}) {
    if (kSanitized && last == LastBatch::kPad) continue;
    options.ranks.last_batch = last;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const auto ranks = PlayRanks(dataset, options, 3, epoch);
      std::vector<std::set<std::size_t>> shards(3);
      std::vector<std::uint64_t> valid;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        REQUIRE(ranks[rank].size() == ranks[0].size());
        for (std::size_t b = 0; b < ranks[rank].size(); ++b) {
          const PlayedBatch& batch = ranks[rank][b];
          REQUIRE(batch.samples.size() == ranks[0][b].samples.size());
          valid.insert(valid.end(), batch.samples.begin(),
                       batch.samples.begin() + std::ptrdiff_t(batch.valid));
          for (const std::uint64_t sample : batch.samples) {
            shards[rank].insert(static_cast<std::size_t>(
                std::upper_bound(ends.begin(), ends.end(), sample) - ends.begin()));
          }
        }
      }
      for (std::size_t shard = 0; shard < ends.size(); ++shard)
        REQUIRE(shards[0].count(shard) + shards[1].count(shard) + shards[2].count(shard) == 1);
      if (last != LastBatch::kDrop) RequireNoneTwice(valid, 60'000);
      deals.insert(shards);
    }
  }
  REQUIRE(deals.size() == 3);  // one for each epoch
}

TEST_CASE("With whole shards for each rank, a resume keeps the number of ranks") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20'000));
  LoaderOptions options = OptionsFor(100, 1);
  options.ranks.by_shards = true;
  options.ranks.world_size = 2;
  options.ranks.rank = 1;
  Loader loader(dataset, options);
  const std::vector<PlayedBatch> whole = PlayBatches(loader, 4);
  PlayBatches(loader, 4, 30);
  options.resume_from = loader.State();
  Loader resumed(dataset, options);
  REQUIRE(PlayBatches(resumed, 4) == std::vector(whole.begin() + 30, whole.end()));
  options.ranks.world_size = 1;
  options.ranks.rank = 0;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("world_size"));
}

TEST_CASE("Each launcher's variables give the rank") {
  const auto found = [](const std::map<std::string, std::string>& variables) {
    const Environment environment(variables);
    return Rank::FromEnvironment();
  };
  CHECK(found({}) == Rank{0, 1});
  CHECK(found({{"RANK", "3"}, {"WORLD_SIZE", "8"}}) == Rank{3, 8});
  CHECK(found({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) == Rank{1, 2});
  CHECK(found({{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}}) == Rank{5, 6});
  CHECK(found({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Rank{2, 4});
  // A batch script of Slurm does not have a rank.
  CHECK(found({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) == Rank{0, 1});
  CHECK(found({{"WORLD_SIZE", "1"}}) == Rank{0, 1});
  // If one launcher's variables are incomplete, those of another launcher are used.
  CHECK(found({{"WORLD_SIZE", "4"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}) == Rank{1, 4});
  // With torchrun under srun, the inner launcher decides.
  CHECK(found({{"RANK", "7"},
               {"WORLD_SIZE", "8"},
               {"SLURM_PROCID", "1"},
               {"SLURM_STEP_NUM_TASKS", "2"}}) == Rank{7, 8});
  for (const char* rank : {"8", "-1", "x", "", "1 "}) {
    const bool number = std::string_view(rank) == "8";
    CHECK_THAT(ErrorText(
                   [&] {
                     found({{"RANK", rank}, {"WORLD_SIZE", "8"}});
                   },
                   ErrorCode::kInvalidArgument),
               ContainsSubstring("WORLD_SIZE=8") &&
                   ContainsSubstring(number ? "must be less than the world size"
                                            : "both must be whole numbers"));
  }
}

TEST_CASE("Incomplete variables of a launcher are refused, unless the options give the rank") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  LoaderOptions options = OptionsFor(10, 1);
  for (const auto& [name, missing] : {std::pair("WORLD_SIZE", "RANK"), {"RANK", "WORLD_SIZE"}}) {
    const Environment environment(std::map<std::string, std::string>{{name, "4"}});
    options.ranks.world_size = 0;
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(std::string(name) + "=4, but not " + missing) &&
                   ContainsSubstring("set both, or neither, or set LoaderOptions::ranks.rank"));
    options.ranks.world_size = 1;
    CHECK(Loader(dataset, options).rank() == Rank{0, 1});
  }
}

TEST_CASE("A loader takes its rank from the environment unless the options give it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  const Environment environment({{"RANK", "2"}, {"WORLD_SIZE", "3"}});
  LoaderOptions options = OptionsFor(10, 1);
  CHECK(Loader(dataset, options).rank() == Rank{2, 3});
  options.ranks.rank = 1;
  options.ranks.world_size = 4;
  CHECK(Loader(dataset, options).rank() == Rank{1, 4});
  options.ranks.rank = 0;
  options.ranks.world_size = 1;
  CHECK(Loader(dataset, options).rank() == Rank{0, 1});
}

TEST_CASE("A world size from the environment has the limit of one in the options") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  const Environment environment({{"RANK", "0"}, {"WORLD_SIZE", "65537"}});
  LoaderOptions options = OptionsFor(10, 1);
  options.order.shuffle = Shuffle::kRandom;
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("LoaderOptions::ranks.world_size must be"));
}

TEST_CASE("A loader of several ranks describes its rank, the rank's source, and its share") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  const Environment environment({{"RANK", "1"}, {"WORLD_SIZE", "4"}});
  LoaderOptions options = OptionsFor(10, 1);
  {
    Loader found(dataset, options);
    const auto says = ContainsSubstring(
        "rank 1 of 4 (from the environment: RANK, WORLD_SIZE) loads 13 of 50 samples an epoch; ");
    const auto advises = ContainsSubstring("LoaderOptions::ranks.world_size = 1");
    CHECK_THAT(found.Describe(), says && advises);
    CHECK_THAT(found.Stats().Verdict(), says && advises);
    PlayBatches(found, 0);
    CHECK_THAT(found.Stats().Since(LoaderStats()).Verdict(), says && advises);
  }
  options.ranks.rank = 3;
  options.ranks.world_size = 4;
  Loader given(dataset, options);
  CHECK_THAT(
      given.Describe(),
      ContainsSubstring("rank 3 of 4 (LoaderOptions::ranks.rank and world_size) loads 13 of 50 "
                        "samples an epoch\n"));
  options.ranks.rank = 0;
  options.ranks.world_size = 1;
  Loader alone(dataset, options);
  CHECK_THAT(alone.Describe() + alone.Stats().Verdict(), !ContainsSubstring("rank"));
}

TEST_CASE("Four processes under mpirun share an epoch") {
  if (std::system("command -v mpirun > /dev/null 2>&1") != 0) {
    WARN("skipped: there is no mpirun here");
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 997);
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const std::string command = "mpirun -np 4 --oversubscribe " SLUICE_PLAY_RANK " '" +
                              path.string() + "' '" + (folder / "played").string() + "' 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<std::uint64_t> samples;
  for (int rank = 0; rank < 4; ++rank) {
    std::ifstream in(folder / ("played." + std::to_string(rank) + ".of.4"));
    REQUIRE(in.good());
    std::uint64_t batches = 0;
    in >> batches;
    CHECK(batches == 16);  // 997 / (4 x 16), rounded up
    for (std::uint64_t sample = 0; in >> sample;)
      samples.push_back(sample);
  }
  RequireNoneTwice(samples, 997);
}
