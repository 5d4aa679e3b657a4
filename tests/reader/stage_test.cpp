// A stage: blocks of a dataset's folder kept on a local disk. How pieces are kept, checked, shared
// and dropped is that of datasets at URLs (block_cache_test.cpp, shared_folder_test.cpp).
#include <filesystem>
#include <fstream>
#include <optional>

#include <sluice/block_cache.h>

#include "format/remote/local_store.h"
#include "reader/dataset/dataset_state.h"
#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"
#include "tests/working_directory.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kStagedSamples = 12'000;  // three shards or more
constexpr std::uint64_t kEnough = 100'000'000;

LoaderOptions Staging(const std::filesystem::path& stage, std::uint64_t bytes = kEnough) {
  LoaderOptions options = OptionsFor(100, 2);
  options.stage = Stage{stage.string(), bytes};
  return options;
}

// The batches of epoch 4 without a stage. A stage must not change them.
std::vector<PlayedBatch> PlayUnstaged(const Dataset& dataset) {
  Loader plain(dataset, OptionsFor(100, 2));
  return PlayBatches(plain, 4);
}

std::uint64_t BytesOf(const Dataset& dataset) {
  std::uint64_t bytes = 0;
  for (const ShardSummary& shard : dataset.shards())
    bytes += shard.bytes;
  return bytes;
}

void RemoveShards(const Dataset& dataset) {
  for (const ShardSummary& shard : dataset.shards())
    std::filesystem::remove(dataset.path() / shard.file);
}

}  // namespace

TEST_CASE(
    "Each block is read from the dataset once, and then from the stage, by later loaders, too") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  REQUIRE(dataset.shards().size() >= 3);
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  {
    Loader loader(dataset, Staging(folder / "deep/stage"));
    CHECK(PlayBatches(loader, 4) == expected);
    CHECK(PlayBatches(loader, 4) == expected);
    CHECK(loader.Stats().fetched_bytes <= BytesOf(dataset));
    CHECK(loader.Memory().mapped == 0);
    CHECK(loader.Memory().blocks > 0);
    CHECK(loader.Memory().bookkeeping > std::uint64_t{16} << 20);  // sixteen threads' buffers
  }
  RemoveShards(dataset);
  Loader later(Dataset::Open(dataset.path()), Staging(folder / "deep/stage"));
  CHECK(PlayBatches(later, 4) == expected);
  CHECK(later.Stats().fetched_bytes == 0);
  CHECK(later.Faults().empty());
}

TEST_CASE("Several loaders fill one stage together") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  Loader a(dataset, Staging(folder / "stage"));
  Loader b(dataset, Staging(folder / "stage"));
  a.Epoch(4);
  b.Epoch(4);
  CHECK(PlayBatches(a, 4) == expected);
  CHECK(PlayBatches(b, 4) == expected);
  CHECK(a.Stats().fetched_bytes + b.Stats().fetched_bytes <= BytesOf(dataset));
}

TEST_CASE("A stage named by a relative path is found when the working directory has changed") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  std::vector<PlayedBatch> expected;
  {
    Loader loader(dataset, Staging(folder / "stage"));
    expected = PlayBatches(loader, 4);
  }
  const TemporaryFolder elsewhere;
  std::optional<Loader> loader;
  {
    const WorkingDirectory there(folder.path());
    loader.emplace(dataset, Staging("stage"));
  }
  const WorkingDirectory other(elsewhere.path());
  CHECK(PlayBatches(*loader, 4) == expected);
  CHECK(loader->Stats().fetched_bytes == 0);
  CHECK(std::filesystem::is_empty(elsewhere.path()));
}

TEST_CASE("A sample that is damaged on the stage comes from the dataset") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::vector<PlayedBatch> expected = PlayUnstaged(dataset);
  { PlayBatches(*std::make_unique<Loader>(dataset, Staging(folder / "stage")), 4); }
  const std::filesystem::path data = folder / "stage" / CacheNameOf(dataset.path()) / "data";
  const std::uint64_t middle = std::filesystem::file_size(data) / 2;
  SECTION("changed") {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(middle));
    file << "damage";
  }
  SECTION("cut") {
    std::filesystem::resize_file(data, middle | 1);
  }
  Loader loader(dataset, Staging(folder / "stage"));
  CHECK(PlayBatches(loader, 4) == expected);
  CHECK(loader.Faults().empty());
}

TEST_CASE("A stage that cannot be read is named as the place at fault, with what to do") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 30);
  ShardTable::Options own;
  own.cache = {folder / "stage", kEnough};
  own.store = std::make_shared<LocalStore>(path);
  const auto staged = DatasetState::Open(path)->WithOwnShards(own);
  const Error error = staged->table.Shard(0)->Unreadable("block 0");
  CHECK(error.code() == ErrorCode::kIo);
  CHECK_THAT(error.what(), ContainsSubstring("the folder that keeps fetched blocks (a cache or a "
                                             "stage): a file there was cut short") &&
                               ContainsSubstring("Remove that folder"));
}

TEST_CASE("A staged sample that is damaged in the dataset is a fault that names sample and file") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  LoaderOptions options = Staging(folder / "stage");
  options.integrity.verify = Verify::kAlways;
  options.integrity.on_fault = OnFault::kSkip;
  const std::filesystem::path shard = dataset.path() / dataset.shards()[0].file;
  DamageIn(shard, 30);
  Loader loader(Dataset::Open(dataset.path()), options);
  CHECK(SamplesOf(PlayBatches(loader, 4)).size() == kStagedSamples - 1);
  const std::vector<SampleFault> faults = loader.Faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].sample == 30);
  CHECK(faults[0].shard == dataset.shards()[0].file);
  CHECK_THAT(faults[0].reason, ContainsSubstring("checksum"));
}

TEST_CASE("The stage keeps to its budget, and other blocks are read where they lie") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, kStagedSamples));
  const std::uint64_t budget = BytesOf(dataset) / 2;
  Loader loader(dataset, Staging(folder / "stage", budget));
  CHECK(PlayBatches(loader, 4) == PlayUnstaged(dataset));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(SamplesOf(PlayBatches(loader, epoch)).size() == kStagedSamples);
    CHECK(DatasetsInCache(folder / "stage").at(0).bytes <= budget);
  }
  CHECK(loader.Stats().cached_bytes > 0);
}

TEST_CASE("A stage that cannot be used is refused when the loader is made") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  std::ofstream(folder / "file") << "no folder";
  ErrorText([&] { Loader(dataset, Staging(folder / "file", 1000)); }, ErrorCode::kIo);
  const auto refusal = [&](const LoaderOptions& options) {
    return ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(Staging(folder / "stage", 0)), ContainsSubstring("Stage::bytes"));
  for (const char* inside : {"", "stage"})
    CHECK_THAT(refusal(Staging(dataset.path() / inside)), ContainsSubstring("own folder"));
  LoaderOptions unmapped = Staging(folder / "stage");
  unmapped.storage = GENERATE(Storage(Direct{}), Storage(Locked{}));
  CHECK_THAT(refusal(unmapped), ContainsSubstring("leave storage as Mapped"));
  CHECK_NOTHROW(Loader(dataset, Staging(folder / "stage")));  // next to the dataset
  // A loader that is dropped while it reads still ends.
  Loader(dataset, Staging(folder / "stage")).Epoch(0);
}
