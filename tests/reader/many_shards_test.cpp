// Datasets with more shards than the loader keeps mapped. The tests make that bound small.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "format/disk/manifest.h"
#include "format/disk/record_layout.h"
#include "reader/dataset/dataset_state.h"
#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/tiny_shards.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::size_t kMaxMapped = 2;

// While an object lives, datasets that are opened keep only kMaxMapped shards mapped.
class FewMapped {
 public:
  FewMapped() { setenv("SLUICE_MAX_MAPPED_SHARDS", std::to_string(kMaxMapped).c_str(), 1); }
  ~FewMapped() { unsetenv("SLUICE_MAX_MAPPED_SHARDS"); }
};

// The number of mappings of shards in this process, as the system counts them.
std::size_t MappedShards(const std::filesystem::path& folder) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find((folder / "shard-").string()) != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("A dataset with more shards than stay mapped is played like any other") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 30'000);
  struct Way {
    Shuffle shuffle;
    bool direct;
  };
  for (const Way way : {Way{Shuffle::kQuasiRandom, false}, Way{Shuffle::kQuasiRandom, true},
                        Way{Shuffle::kRandom, false}, Way{Shuffle::kSequential, false},
                        Way{Shuffle::kSequential, true}}) {
    CAPTURE(static_cast<int>(way.shuffle), way.direct);
    LoaderOptions options = OptionsFor(100, 3);
    options.order.shuffle = way.shuffle;
    options.order.lanes = 4;
    if (way.direct) options.storage = Direct{};
    Played whole;
    {
      const Dataset dataset = Dataset::Open(path);
      REQUIRE(dataset.shards().size() >= 5);
      Loader loader(dataset, options);
      whole = PlayOn(loader, 1);
    }
    const FewMapped few;
    const Dataset dataset = Dataset::Open(path);
    REQUIRE_FALSE(dataset.state()->table.keeps_all());
    Loader loader(dataset, options);
    for (int again = kSanitized ? 1 : 0; again < 2; ++again) {
      const Played played = PlayOn(loader, 1);
      REQUIRE(played.errors.empty());
      REQUIRE(played.samples == whole.samples);
    }
  }
}

TEST_CASE("Unused shards beyond the bound are unmapped") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 30'000);
  const std::shared_ptr<DatasetState> opened = DatasetState::Open(path, {}, kMaxMapped);
  DatasetState& dataset = *opened;
  const auto shards = static_cast<std::uint32_t>(dataset.facts->shards.size());
  REQUIRE(shards >= 5);
  for (std::uint32_t s = 0; s < shards; ++s)
    dataset.table.Shard(s);
  CHECK(MappedShards(path) == kMaxMapped);
  CHECK(dataset.table.OpenShard(shards - 1) != nullptr);
  CHECK(dataset.table.OpenShard(0) == nullptr);
  // Shards in use stay mapped, beyond the bound if necessary.
  std::vector<ShardUse> uses;
  for (std::uint32_t s = 0; s < shards; ++s)
    uses.push_back(dataset.table.Shard(s));
  CHECK(MappedShards(path) == shards);
  CHECK(uses[0]->Key(0) == "key-0");
}

TEST_CASE("A sample's values stay readable when its shard is no longer kept open") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 30'000);
  const FewMapped few;
  const Dataset dataset = Dataset::Open(path);
  const Sample first = dataset[0];
  const ImagePayload payload = first.Payload();
  const std::vector<std::byte> before(payload.bytes.begin(), payload.bytes.end());
  for (std::uint64_t i = 0; i < dataset.size(); i += 500)
    CHECK(dataset[i].Integer("label") >= 0);
  CHECK(MappedShards(path) <= kMaxMapped + 1);
  CHECK(std::equal(before.begin(), before.end(), payload.bytes.begin()));
}

TEST_CASE("A dataset with more shards than stay mapped cannot be locked in memory") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 30'000);
  const FewMapped few;
  LoaderOptions options = OptionsFor(100, 1);
  options.storage = Locked{};
  REQUIRE_THROWS_WITH(Loader(Dataset::Open(path), options), ContainsSubstring("at most 2"));
}

TEST_CASE("A shard that cannot be opened is tried once per epoch, and is one fault") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 12'000);
  const Dataset dataset = Dataset::Open(path);
  REQUIRE(dataset.shards().size() >= 3);
  const ShardSummary lost = dataset.shards()[1];
  const std::filesystem::path away = folder / "away";
  std::filesystem::rename(path / lost.file, away);
  LoaderOptions options = OptionsFor(250, 2);
  options.integrity.on_fault = OnFault::kSkip;
  Loader loader(dataset, options);
  REQUIRE(PlayOn(loader, 0).samples.size() == 12'000 - lost.samples);
  const std::vector<SampleFault> faults = loader.Faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].shard == lost.file);
  CHECK(faults[0].sample == dataset.shards()[0].samples);
  CHECK(faults[0].samples == lost.samples);
  CHECK(faults[0].times >= lost.samples);  // the next epoch may have begun
  CHECK(loader.Stats().faults >= lost.samples);

  // A known missing shard is not tried again in this epoch; the next epoch tries it.
  const std::shared_ptr<DatasetState> opened = DatasetState::Open(path);
  DatasetState& state = *opened;
  std::shared_ptr<const Error> fault;
  CHECK(state.table.Shard(1, fault) == nullptr);
  std::filesystem::rename(away, path / lost.file);
  fault = nullptr;
  CHECK(state.table.Shard(1, fault) == nullptr);
  REQUIRE(fault != nullptr);
  CHECK(fault->code() == ErrorCode::kNotFound);
  state.table.ForgetFaults();
  CHECK(state.table.Shard(1, fault) != nullptr);
}

TEST_CASE("Twenty thousand shards play with no more of them mapped than promised", "[slow]") {
  constexpr std::size_t kShards = 20'000;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "tiny";
  WriteTinyShards(path, kShards);
  const Dataset dataset = Dataset::Open(path);
  REQUIRE_FALSE(dataset.state()->table.keeps_all());
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom}) {
    LoaderOptions options = OptionsFor(256, 4);
    options.order.shuffle = shuffle;
    Loader loader(dataset, options);
    std::vector<std::uint64_t> samples;
    for (const PlayedBatch& batch : PlayBatches(loader, 0)) {
      for (std::size_t row = 0; row < batch.samples.size(); ++row) {
        constexpr std::size_t kPixels = 48;  // all equal the sample's number modulo 251
        const auto* const pixels = batch.pixels.data() + row * kPixels;
        REQUIRE(std::count(pixels, pixels + kPixels,
                           static_cast<std::uint8_t>(batch.samples[row] % 251)) == kPixels);
        samples.push_back(batch.samples[row]);
      }
    }
    std::sort(samples.begin(), samples.end());
    REQUIRE(samples.size() == 2 * kShards);
    for (std::size_t i = 0; i < samples.size(); ++i)
      REQUIRE(samples[i] == i);
    // In addition, at most the shards that samples in the ring come from are mapped.
    const std::size_t rows = 256 * (1 + *options.ring.prefetch + options.ring.hold);
    CHECK(MappedShards(path) <= dataset.state()->table.max_mapped() + rows);
  }
}

TEST_CASE(
    "A billion samples that a manifest claims in missing shards are skipped, and their epoch can "
    "be left early") {
  const TemporaryFolder folder;
  Manifest manifest;
  manifest.schema = Schema{{Field::Image(), Field::Label("label", {"a", "b"})}};
  manifest.images = {{.present = 1,
                      .payload_bytes = 48,
                      .max_payload_bytes = 48,
                      .min_width = 4,
                      .max_width = 4,
                      .min_height = 4,
                      .max_height = 4,
                      .min_channels = 3,
                      .max_channels = 3}};
  manifest.class_counts = {0, 0};
  // As many samples as a shard of this size could hold.
  ManifestShard shard;
  shard.bytes = 128'000'000 / 4096 * 4096;
  shard.block_samples = 64;
  shard.samples = std::min(shard.bytes / RecordLayout(manifest.schema).record_bytes(),
                           (shard.bytes / 4096 - 1) * shard.block_samples);
  shard.blocks = (shard.samples + 63) / 64;
  while (manifest.samples < 1'000'000'000) {
    shard.file = "shard-" + std::to_string(manifest.shards.size()) + ".sluice";
    manifest.samples += shard.samples;
    manifest.shards.push_back(shard);
  }
  Id128 id;
  const std::string text = ManifestToJson(manifest, id);
  std::ofstream(folder / kManifestName, std::ios::binary) << text;

  const Dataset dataset = Dataset::Open(folder.path());
  LoaderOptions options = OptionsFor(512, 2);
  options.order.shuffle = GENERATE(Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential);
  {
    Loader loader(dataset, options);
    try {
      *loader.Epoch(0).begin();
      FAIL("a batch came from nowhere");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kNotFound);
    }
  }
  options.integrity.on_fault = OnFault::kSkip;
  Loader loader(dataset, options);
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    REQUIRE(batch.size() == 0);
    if (++batches == 200) break;
  }
  CHECK(batches == 200);
  CHECK(loader.Faults().size() <= manifest.shards.size());
  CHECK(loader.Stats().faults >= 200 * 512);
}
