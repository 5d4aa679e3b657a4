// Reading past the page cache: LoaderOptions::storage = Direct.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <unistd.h>

#include "tests/reader/cached_pages.h"
#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Plays epochs from mapped shards and past the page cache, compares the batches and returns them.
std::vector<PlayedBatch> RequireSame(const Dataset& dataset, LoaderOptions options,
                                     std::uint64_t epochs = 2) {
  options.storage = Mapped{};
  Loader mapped(dataset, options);
  options.storage = Direct{};
  Loader direct(dataset, options);
  std::vector<PlayedBatch> all;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<PlayedBatch> expected = PlayBatches(mapped, epoch);
    REQUIRE_FALSE(expected.empty());
    REQUIRE(PlayBatches(direct, epoch) == expected);
    all.insert(all.end(), expected.begin(), expected.end());
  }
  REQUIRE(direct.Faults().empty());
  return all;
}

// Samples that have two JPEGs each.
std::filesystem::path WriteTwoImages(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "two";
  DatasetWriter writer(path, {{Field::Image(), Field::Image("other"), Field::Label("label")}},
                       {"two", 1'000'000, 4});
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    sample.SetJpeg("image", MakeJpeg(MakePicture(80, 60, 3, seed)));
    sample.SetJpeg("other", MakeJpeg(MakePicture(64, 64, 3, seed + 1000)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// Overwrites with zeros the only unnamed file that this process has open in the folder.
void ZeroUnnamedFile(const std::filesystem::path& folder) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry, gone).string();
    if (!name.starts_with(folder.string()) || !name.ends_with(" (deleted)")) continue;
    const std::string zeros(std::filesystem::file_size(entry), '\0');
    std::fstream(entry.path(), std::ios::binary | std::ios::in | std::ios::out) << zeros;
    ++found;
  }
  REQUIRE(found == 1);
}

}  // namespace

TEST_CASE("Batches read past the page cache are those of mapped shards, to the byte") {
  const TemporaryFolder folder;
  const Dataset raw = Dataset::Open(WriteRawDataset(folder, 12'000));
  REQUIRE(raw.shards().size() >= 3);
  const Dataset jpeg = Dataset::Open(WriteJpegDataset(folder, 150));
  for (const unsigned threads : {1U, 3U}) {
    for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kSequential}) {
      if (kSanitized && (threads == 1) != (shuffle == Shuffle::kSequential)) continue;
      LoaderOptions options = OptionsFor(70, threads);
      options.order.shuffle = shuffle;
      RequireSame(raw, options);
      options.batch_size = 16;
      options.transform = {RandomResizedCrop(24), HorizontalFlip()};
      RequireSame(jpeg, options);
    }
  }
}

TEST_CASE("Ranks, lists, dealt shards and short windows read past the page cache, too") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 12'000));
  LoaderOptions options = OptionsFor(50, 2);
  options.ranks.world_size = 3;
  options.ranks.rank = 1;
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kSequential}) {
    options.order.shuffle = shuffle;
    RequireSame(dataset, options);
  }
  options.order.shuffle = Shuffle::kQuasiRandom;
  options.ranks.by_shards = true;
  RequireSame(dataset, options);
  options = OptionsFor(50, 2);
  options.order.lanes = 3;
  options.order.window_bytes = 1;  // a block a lane
  RequireSame(dataset, options);
  std::vector<double> weights(12'000);
  std::iota(weights.begin(), weights.end(), 1.0);
  options.order.samples = SampleList::Weighted(weights, 700, true);
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kSequential}) {
    options.order.shuffle = shuffle;
    RequireSame(dataset, options);
  }
}

TEST_CASE("Epochs that are left, repeated or resumed are read the same past the page cache") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3000));
  LoaderOptions options = OptionsFor(40, 2);
  options.order.lanes = 6;
  Loader mapped(dataset, options);
  options.storage = Direct{};
  Loader direct(dataset, options);
  for (const std::size_t batches : {3, 1, 0, 40, 75, 7}) {
    for (const std::uint64_t epoch : {4, 4, 5})
      REQUIRE(PlayBatches(direct, epoch, batches) == PlayBatches(mapped, epoch, batches));
  }
  PlayBatches(direct, 8, 31);
  options.resume_from = direct.State();
  Loader resumed(dataset, options);
  const std::vector<PlayedBatch> whole = PlayBatches(mapped, 8);
  REQUIRE(PlayBatches(resumed, 8) == std::vector<PlayedBatch>(whole.begin() + 31, whole.end()));
}

TEST_CASE("Kept pictures leave only the other fields to be read past the page cache") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 150));
  LoaderOptions options = OptionsFor(16, 2);
  options.transform = {ResizeShortSide{48}, CenterCrop(40), HorizontalFlip()};
  options.keep = DecodedPictures{10'000'000};
  RequireSame(dataset, options, 3);
  options.storage = Direct{};
  Loader loader(dataset, options);
  PlayBatches(loader, 0);
  PlayBatches(loader, 1);  // its blocks were read ahead during epoch 0
  const std::uint64_t before = loader.Stats().read_ahead_bytes;
  PlayBatches(loader, 2);
  PlayBatches(loader, 3);
  // A page of each block. The loader plays two epochs, and may be one ahead.
  const std::uint64_t tables = 4096 * (150 / 4 + 1);
  CHECK(loader.Stats().read_ahead_bytes - before <= 3 * tables);
}

TEST_CASE("A kept picture that its file has lost is read past the page cache again") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteTwoImages(folder, 60));
  LoaderOptions options = OptionsFor(16, 2);
  options.transform = {ResizeShortSide{48}, CenterCrop(40), HorizontalFlip()};
  options.output.fields = {"image", "label"};
  Loader plain(dataset, options);
  options.keep = DecodedPictures{1'000'000, folder.path().string()};
  options.storage = Direct{};
  Loader loader(dataset, options);
  for (const std::uint64_t epoch : {0, 1, 2})
    REQUIRE(PlayBatches(loader, epoch) == PlayBatches(plain, epoch));
  REQUIRE(loader.Stats().kept_pictures == 60);
  loader.Epoch(2);  // stops decoding ahead
  const std::uint64_t decoded = loader.Stats().payload_bytes;
  REQUIRE(PlayBatches(loader, 3) == PlayBatches(plain, 3));
  REQUIRE(loader.Stats().payload_bytes == decoded);
  ZeroUnnamedFile(folder.path());
  for (const std::uint64_t epoch : {4, 5})
    REQUIRE(PlayBatches(loader, epoch) == PlayBatches(plain, epoch));
  CHECK(loader.Stats().payload_bytes - decoded >= dataset.images()[0].payload_bytes);
  CHECK(loader.Faults().empty());
}

TEST_CASE("Fields that are left out are not read past the page cache, either") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  LoaderOptions options = OptionsFor(16, 2);
  options.output.fields = {"label"};
  options.storage = Direct{};
  Loader loader(dataset, options);
  std::uint64_t samples = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto labels = batch.Field<std::int32_t>("label");
    for (std::size_t row = 0; row < batch.size(); ++row)
      REQUIRE(labels[row] == static_cast<std::int32_t>(batch.samples()[row] % 2));
    samples += batch.size();
  }
  CHECK(samples == 320);
  CHECK(loader.Stats().read_ahead_bytes <= 2 * 20 * 4096);  // the loader may be an epoch ahead
}

TEST_CASE("Reading past the page cache leaves nothing in it but headers and directories") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteLargerDataset(folder, 1600);
  if (!DropFromCache(Dataset::Open(path))) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  LoaderOptions options = OptionsFor(16, 2);
  options.storage = Direct{};
  const Dataset dataset = Dataset::Open(path);
  Loader loader(dataset, options);
  PlayBatches(loader, 0);
  PlayBatches(loader, 1);
  CHECK(CachedBytes(dataset) <= 16 * 4096);
}

namespace {

struct FolderInMemory {
  std::string path = "/dev/shm/sluice-test-XXXXXX";
  FolderInMemory() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~FolderInMemory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  FolderInMemory(const FolderInMemory&) = delete;
  FolderInMemory& operator=(const FolderInMemory&) = delete;
};

}  // namespace

TEST_CASE("Any file system works, and shards that refuse direct reads are counted") {
  if (access("/dev/shm", W_OK) != 0) {
    WARN("skipped: no file system in memory is here");
    return;
  }
  const FolderInMemory folder;
  {
    const TemporaryFolder written;
    std::filesystem::copy(WriteRawDataset(written, 3000), folder.path);
  }
  const Dataset dataset = Dataset::Open(folder.path);
  RequireSame(dataset, OptionsFor(40, 2));
  LoaderOptions options = OptionsFor(40, 2);
  options.storage = Direct{};
  Loader loader(dataset, options);
  PlayBatches(loader, 0);
  // Newer kernels accept O_DIRECT in a file system in memory.
  const std::uint64_t refused = loader.Stats().refused_shards;
  CHECK((refused == 0 || refused == dataset.shards().size()));
}

TEST_CASE("A loader that reads past the page cache can be dropped at any moment") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 640));
  for (std::size_t round = 0; round < 24; ++round) {
    LoaderOptions options = OptionsFor(8, 1 + static_cast<unsigned>(round) % 3);
    options.storage = Direct{};
    Loader loader(dataset, options);
    const EpochRange range = loader.Epoch(round);
    if (round % 4 == 0) continue;
    std::optional<Batch> kept;
    for (const Batch& batch : range) {
      kept = batch;
      if (batch.index() == round) break;
    }
    REQUIRE(kept->image().data[0] == static_cast<std::uint8_t>(kept->samples()[0]));
  }
}

TEST_CASE("The memory bound includes the blocks, and the loader stays under it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 3200));
  LoaderOptions options = OptionsFor(16, 2);
  options.ring.prefetch = 2;
  options.order.lanes = 4;
  options.order.window_bytes = 4 * 40 * kPictureBytes;  // two blocks a lane, of 16 samples each
  options.storage = Direct{};
  const std::uint64_t before = AnonymousBytes();
  Loader loader(dataset, options);
  const LoaderMemory memory = loader.Memory();
  // The shard has 200 blocks. The bound is two windows of 8 blocks and one block for each of two
  // threads, plus an eighth.
  const std::uint64_t block = (dataset.shards()[0].bytes + 199) / 200;
  CHECK(memory.blocks == (18 * block * 9 + 7) / 8);
  CHECK(memory.own() == memory.slots + memory.scratch + memory.bookkeeping + memory.blocks);
  CHECK(memory.mapped == 0);
  std::uint64_t most = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      REQUIRE(batch.size() == 16);
      if (batch.index() % 4 == 0) most = std::max(most, AnonymousBytes());
    }
  }
  if (!kSanitized) CHECK(most <= before + memory.own());
  CHECK(MappedBytes(dataset.path().string()) <= 4 * 65536);
}

TEST_CASE("If a shard is truncated while it is read past the page cache, the rest is played") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3000);
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(50, 2);
  options.storage = Direct{};
  options.integrity.on_fault = OnFault::kSkip;
  options.integrity.verify = Verify::kNever;
  Loader loader(dataset, options);
  REQUIRE(PlayOn(loader, 0).samples.size() == 3000);
  const auto bytes = static_cast<off_t>(dataset.shards()[0].bytes);
  REQUIRE(truncate((path / dataset.shards()[0].file).c_str(), bytes / 2 + 100) == 0);
  loader.Epoch(7);
  const std::size_t left = PlayOn(loader, 1).samples.size();
  CHECK(left < 3000);
  CHECK(left > 3000 - dataset.shards()[0].samples);
}

TEST_CASE("Substitutes are the same if they are read past the page cache") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, {3, 40, 41, 42, 43, 199});
  LoaderOptions options = OptionsFor(24, 2);
  options.order.lanes = 12;
  options.integrity.on_fault = OnFault::kSubstitute;
  Loader mapped(Dataset::Open(path), options);
  options.storage = Direct{};
  Loader direct(Dataset::Open(path), options);
  const Played expected = PlayOn(mapped, 5);
  const Played played = PlayOn(direct, 5);
  CHECK(played.samples == expected.samples);
  CHECK(played.flags == expected.flags);
  CHECK(played.errors.empty());
  CHECK(std::count(played.flags.begin(), played.flags.end(), SampleFlag::kSubstitute) == 6);
}

TEST_CASE("Options that contradict reading past the page cache are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  LoaderOptions options = OptionsFor(10, 1);
  options.storage = Direct{};
  options.order.shuffle = Shuffle::kRandom;
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("Direct"));
}
