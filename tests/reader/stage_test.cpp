// Copies of shards on a local disk (a stage): made in the background, checked, shared, and within a
// budget.
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"
#include "tests/working_directory.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kStagedSamples = 12'000;  // three shards or more

LoaderOptions Staging(const std::filesystem::path& stage, std::uint64_t bytes) {
  LoaderOptions options = OptionsFor(100, 2);
  options.stage = Stage{stage.string(), bytes};
  return options;
}

// The batches of epoch 4 without a stage. A stage must not change them.
std::vector<PlayedBatch> PlayUnstaged(const Dataset& dataset) {
  Loader plain(dataset, OptionsFor(100, 2));
  return PlayBatches(plain, 4);
}

// Plays until `shards` shards are read from the stage; returns the last epoch's batches.
std::vector<PlayedBatch> PlayUntilStaged(Loader& loader, std::uint64_t shards) {
  std::vector<PlayedBatch> played;
  do {
    played = PlayBatches(loader, 4);
  } while (loader.Stats().staged_shards < shards);
  return played;
}

// The bytes of all files in a folder. A file that is renamed meanwhile may or may not be counted.
std::uint64_t BytesIn(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, gone)) {
    const std::uint64_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

// A lock, held as if by another process.
class HeldLock {
 public:
  explicit HeldLock(const std::filesystem::path& file)
      : file_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    REQUIRE(flock(file_, LOCK_EX) == 0);
  }
  ~HeldLock() { close(file_); }

 private:
  int file_;
};

void RemoveShards(const Dataset& dataset) {
  for (const ShardSummary& shard : dataset.shards())
    std::filesystem::remove(dataset.path() / shard.file);
}

}  // namespace

TEST_CASE("Shards that were copied to the stage are read from there, by later loaders, too") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  REQUIRE(dataset.shards().size() >= 3);
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  {
    Loader loader(dataset, Staging(folder / "deep/stage", 100'000'000));
    REQUIRE(PlayUntilStaged(loader, dataset.shards().size()) == expected);
    REQUIRE(PlayBatches(loader, 4) == expected);
    std::uint64_t bytes = 0;
    for (const ShardSummary& shard : dataset.shards())
      bytes += shard.bytes;
    CHECK(BytesIn(folder / "deep/stage") == bytes);
  }
  RemoveShards(dataset);
  Loader later(Dataset::Open(dataset.path()), Staging(folder / "deep/stage", 100'000'000));
  REQUIRE(PlayBatches(later, 4) == expected);
  REQUIRE(later.Stats().staged_shards == dataset.shards().size());
}

TEST_CASE("A stage named by a relative path is found when the working directory has changed") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  std::vector<PlayedBatch> expected;
  {
    Loader loader(dataset, Staging(folder / "stage", 100'000'000));
    expected = PlayUntilStaged(loader, dataset.shards().size());
  }
  const TemporaryFolder elsewhere;
  std::optional<Loader> loader;
  {
    const WorkingDirectory there(folder.path());
    loader.emplace(dataset, Staging("stage", 100'000'000));
  }
  const WorkingDirectory other(elsewhere.path());
  CHECK(PlayBatches(*loader, 4) == expected);
  CHECK(loader->Stats().staged_shards == dataset.shards().size());
  CHECK(std::filesystem::is_empty(elsewhere.path()));
}

TEST_CASE("A copy that is damaged or was never finished is made anew") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  const std::filesystem::path copies = folder / "stage/" / dataset.id();
  std::filesystem::create_directories(copies);
  std::ofstream(copies / dataset.shards()[0].file) << "something else";
  std::ofstream(copies / ("." + dataset.shards()[1].file + ".tmp")) << std::string(5'000'000, 'x');
  std::filesystem::copy(dataset.path() / dataset.shards()[2].file, copies);
  REQUIRE(truncate((copies / dataset.shards()[2].file).c_str(), 8192) == 0);
  Loader loader(dataset, Staging(folder / "stage", 100'000'000));
  REQUIRE(PlayUntilStaged(loader, dataset.shards().size()) == expected);
  for (const ShardSummary& shard : dataset.shards())
    CHECK(std::filesystem::file_size(copies / shard.file) == shard.bytes);
  CHECK_FALSE(std::filesystem::exists(copies / ("." + dataset.shards()[1].file + ".tmp")));
}

TEST_CASE("A sample damaged in its copy comes from the original, and the copy is made anew") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  LoaderOptions options = Staging(folder / "stage", 100'000'000);
  options.integrity.verify = Verify::kAlways;
  if (GENERATE(false, true)) options.storage = Direct{};
  { PlayUntilStaged(*std::make_unique<Loader>(dataset, options), dataset.shards().size()); }
  const std::string file = dataset.shards()[1].file;
  const std::filesystem::path copy = folder / "stage/" / dataset.id() / file;
  const std::string right = ContentOf(dataset.path() / file);
  REQUIRE(ContentOf(copy) == right);
  const std::uint64_t damaged = dataset.shards()[0].samples + 30;
  DamageIn(copy, damaged);
  Loader loader(dataset, options);
  do {
    REQUIRE(PlayBatches(loader, 4) == expected);
  } while (ContentOf(copy) != right);
  REQUIRE(PlayUntilStaged(loader, dataset.shards().size()) == expected);
  // After a second damaged copy, no third one is made.
  DamageIn(copy, damaged + 1000);
  do {
    REQUIRE(PlayBatches(loader, 4) == expected);
  } while (std::filesystem::exists(copy));
  REQUIRE(PlayBatches(loader, 4) == expected);
  CHECK(loader.Stats().staged_shards == dataset.shards().size() - 1);
  CHECK(loader.Faults().empty());
}

TEST_CASE("A copy first used in a later epoch is compared, too") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  // Checksums of raw payloads are compared once.
  LoaderOptions options = Staging(folder / "stage", 100'000'000);
  if (GENERATE(false, true)) options.storage = Direct{};
  { PlayUntilStaged(*std::make_unique<Loader>(dataset, options), dataset.shards().size()); }
  const std::string file = dataset.shards()[1].file;
  const std::filesystem::path copy = folder / "stage/" / dataset.id() / file;
  const std::string right = ContentOf(copy);
  DamageIn(copy, dataset.shards()[0].samples + 30);
  auto held = std::make_unique<HeldLock>(folder / "stage/lock");
  Loader loader(dataset, options);
  PlayBatches(loader, 3);
  REQUIRE(loader.Stats().staged_shards == 0);
  held.reset();
  do {
    REQUIRE(PlayBatches(loader, 4) == expected);
  } while (ContentOf(copy) != right);
  CHECK(loader.Faults().empty());
}

TEST_CASE("A good copy that cannot be opened is not removed") {
  if (kSanitized) {
    WARN("skipped under sanitizers, which need descriptors of their own");
    return;
  }
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  const LoaderOptions options = Staging(folder / "stage", 100'000'000);
  { PlayUntilStaged(*std::make_unique<Loader>(dataset, options), dataset.shards().size()); }
  Loader loader(dataset, options);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;  // open files stay open
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::size_t played = 0;
  try {
    for (const Batch& batch : loader.Epoch(4))
      played += batch.size();
  } catch (const Error&) {
    played = 0;
  }
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(played == 0);  // the shards could not be opened, either
  for (const ShardSummary& shard : dataset.shards())
    CHECK(ContentOf(folder / "stage/" / dataset.id() / shard.file) ==
          ContentOf(dataset.path() / shard.file));
  Loader later(dataset, options);
  CHECK(PlayBatches(later, 4) == expected);
}

TEST_CASE("A copy that is truncated while it is read costs no sample") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  LoaderOptions options = Staging(folder / "stage", 100'000'000);
  options.integrity.verify = Verify::kNever;
  if (GENERATE(false, true)) options.storage = Direct{};
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  Loader loader(dataset, options);
  REQUIRE(PlayUntilStaged(loader, dataset.shards().size()) == expected);
  const std::filesystem::path copies = folder / "stage/" / dataset.id();
  const auto bytes = static_cast<off_t>(dataset.shards()[1].bytes);
  // Cuts the copy within a page, the rest of which then reads as zeros.
  REQUIRE(truncate((copies / dataset.shards()[1].file).c_str(), bytes / 2 | 1) == 0);
  REQUIRE(truncate((copies / dataset.shards()[2].file).c_str(), 0) == 0);
  loader.Epoch(7);  // drops what was decoded ahead
  REQUIRE(PlayBatches(loader, 4) == expected);
  CHECK(loader.Faults().empty());
}

TEST_CASE("Where neither a copy nor its original can be read, the fault names both") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  LoaderOptions options = Staging(folder / "stage", 100'000'000);
  options.integrity.verify = Verify::kAlways;
  options.integrity.on_fault = OnFault::kSkip;
  { PlayUntilStaged(*std::make_unique<Loader>(dataset, options), dataset.shards().size()); }
  const std::filesystem::path copies = folder / "stage/" / dataset.id();
  const ShardSummary& first = dataset.shards()[0];
  const ShardSummary& second = dataset.shards()[1];
  for (const std::filesystem::path& file : {copies / first.file, dataset.path() / first.file})
    DamageIn(file, 30);
  DamageIn(copies / second.file, first.samples + 40);
  std::filesystem::remove(dataset.path() / second.file);
  Loader loader(Dataset::Open(dataset.path()), options);
  REQUIRE(SamplesOf(PlayBatches(loader, 4)).size() == kStagedSamples - 2);
  const std::vector<SampleFault> faults = loader.Faults();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].sample == 30);
  CHECK_THAT(faults[0].reason, ContainsSubstring("checksum"));
  CHECK_THAT(faults[0].reason, ContainsSubstring((copies / first.file).string()));
  CHECK(faults[1].sample == first.samples + 40);
  CHECK_THAT(faults[1].reason, ContainsSubstring("No such file"));
  CHECK_THAT(faults[1].reason, ContainsSubstring((copies / second.file).string()));
}

TEST_CASE("No loader waits for a stage that another process has locked") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  const std::filesystem::path copies = folder / "stage/" / dataset.id();
  std::filesystem::create_directories(copies);
  for (const std::filesystem::path& lock : {folder / "stage/lock", copies / "lock"}) {
    auto held = std::make_unique<HeldLock>(lock);
    Loader dropped(dataset, Staging(folder / "stage", 100'000'000));
    Loader loader(dataset, Staging(folder / "stage", 100'000'000));
    REQUIRE(PlayBatches(loader, 4) == expected);
    REQUIRE(loader.Stats().staged_shards == 0);
    { const Loader gone = std::move(dropped); }
    held.reset();
    REQUIRE(PlayUntilStaged(loader, dataset.shards().size()) == expected);
  }
}

TEST_CASE("The stage keeps to its budget, and the other shards are read where they lie") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::uint64_t budget = dataset.shards()[0].bytes + dataset.shards()[1].bytes;
  Loader plain(dataset, OptionsFor(100, 2));
  Loader loader(dataset, Staging(folder / "stage", budget));
  REQUIRE(PlayUntilStaged(loader, 2) == PlayBatches(plain, 4));
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    REQUIRE(SamplesOf(PlayBatches(loader, epoch)).size() == kStagedSamples);
    CHECK(BytesIn(folder / "stage") <= budget);
  }
  CHECK(loader.Stats().staged_shards <= 2);
}

TEST_CASE("Copies of another dataset make room when nobody reads them, and not before") {
  const TemporaryFolder folder;
  const TemporaryFolder other_folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 1500));
  const Dataset other = Dataset::Open(WriteRawDataset(other_folder, 1450));
  REQUIRE(dataset.shards().size() == 1);
  REQUIRE(other.shards().size() == 1);
  const std::uint64_t budget = dataset.shards()[0].bytes + 10'000;
  std::optional<Loader> first(std::in_place, dataset, Staging(folder / "stage", budget));
  PlayUntilStaged(*first, 1);
  {
    Loader second(other, Staging(folder / "stage", budget));
    REQUIRE(SamplesOf(PlayBatches(second, 0)).size() == 1450);
  }
  CHECK(std::filesystem::exists(folder / "stage/" / dataset.id() / dataset.shards()[0].file));
  first.reset();
  Loader third(other, Staging(folder / "stage", budget));
  PlayUntilStaged(third, 1);
  CHECK_FALSE(std::filesystem::exists(folder / "stage/" / dataset.id()));
}

TEST_CASE("Several loaders fill one stage together") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  Loader a(dataset, Staging(folder / "stage", 100'000'000));
  Loader b(dataset, Staging(folder / "stage", 100'000'000));
  a.Epoch(4);
  b.Epoch(4);
  REQUIRE(PlayUntilStaged(a, dataset.shards().size()) == expected);
  REQUIRE(PlayUntilStaged(b, dataset.shards().size()) == expected);
}

TEST_CASE("A stage that cannot be written to is refused when the loader is made") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  std::ofstream(folder / "file") << "no folder";
  ErrorText([&] { Loader(dataset, Staging(folder / "file", 1000)); }, ErrorCode::kIo);
  ErrorText([&] { Loader(dataset, Staging(folder / "stage", 0)); }, ErrorCode::kInvalidArgument);
  // A loader that is dropped while it copies still ends.
  Loader(dataset, Staging(folder / "stage", 100'000)).Epoch(0);
}

TEST_CASE("A stage without room deletes only files of a stage") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::string id(32, 'a');
  const std::vector<std::string> others = {
      "thesis/chapter/1.txt",           // a folder that is not named after a dataset
      id + "/shard-00000.sluice",       // a copy without a lock
      std::string(32, 'b') + "/lock",   // a lock, ...
      std::string(32, 'b') + "/notes",  // ... but also a file that is not a copy
      std::string(32, 'c') + "/deep/shard-00000.sluice",
      "file"};
  for (const std::string& other : others) {
    std::filesystem::create_directories((folder / "stage" / other).parent_path());
    std::ofstream(folder / "stage" / other) << std::string(1000, 'x');
  }
  // Copies that the stage may delete, and does.
  const std::filesystem::path old = folder / "stage" / std::string(32, 'd');
  std::filesystem::create_directories(old);
  std::ofstream(old / "lock") << "";
  std::ofstream(old / "shard-00007.sluice") << std::string(1000, 'x');
  const std::uint64_t first = dataset.shards()[0].bytes;
  {
    Loader loader(dataset, Staging(folder / "stage", first + 500));
    PlayUntilStaged(loader, 1);
  }
  CHECK_FALSE(std::filesystem::exists(old));
  for (const std::string& other : others)
    CHECK(std::filesystem::exists(folder / "stage" / other));
}

TEST_CASE("A stage cannot be the dataset's own folder, or lie inside it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  for (const char* inside : {"", "stage"}) {
    CHECK_THAT(ErrorText([&] { Loader(dataset, Staging(dataset.path() / inside, 1'000'000)); },
                         ErrorCode::kInvalidArgument),
               ContainsSubstring("own folder"));
  }
  CHECK_NOTHROW(Loader(dataset, Staging(folder / "stage", 1'000'000)));  // next to the dataset
}
