// Bits of a dataset that flip between its store and the loader, once or permanently.
#include <atomic>

#include "format/remote/local_store.h"
#include "format/remote/remote_manifest.h"
#include "reader/dataset/dataset_state.h"
#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

namespace fs = std::filesystem;

// Where a bit flips in an object.
struct Flip {
  std::string object;  // none if empty
  std::uint64_t at = 0;
  bool for_ever = false;  // otherwise only the first time that the byte is read
};

// A local store whose reader gets a flipped bit.
class FlippingStore : public LocalStore {
 public:
  FlippingStore(const fs::path& folder, Flip flip) : LocalStore(folder), flip_(std::move(flip)) {}

  std::vector<std::byte> Get(std::string_view object, std::uint64_t limit,
                             ObjectInfo* info) override {
    std::vector<std::byte> content = LocalStore::Get(object, limit, info);
    if (object == flip_.object && Flips()) content.at(flip_.at) ^= std::byte{8};
    return content;
  }

  std::uint64_t Read(RangeRead read) override {
    const bool has = read.object == flip_.object && read.offset <= flip_.at &&
                     flip_.at < read.offset + read.bytes;
    if (!has || !Flips()) return LocalStore::Read(std::move(read));
    read.take = [take = std::move(read.take), at = read.offset,
                 flip = flip_.at](Bytes bytes) mutable {
      std::vector<std::byte> changed(bytes.begin(), bytes.end());
      if (flip >= at && flip < at + bytes.size()) changed[flip - at] ^= std::byte{8};
      at += bytes.size();
      take(changed);
    };
    return LocalStore::Read(std::move(read));
  }

 private:
  bool Flips() { return flip_.for_ever || !flipped_.exchange(true); }

  const Flip flip_;
  std::atomic<bool> flipped_{false};
};

Dataset OpenFlipping(const fs::path& path, const Flip& flip) {
  return DatasetOf(DatasetState::Open(std::make_shared<FlippingStore>(path, flip)));
}

// One place of each kind of bytes that has a checksum, with its name.
std::vector<std::pair<std::string, Flip>> PlacesIn(const fs::path& path) {
  const auto state = DatasetState::Open(path);
  const ShardUse shard = state->table.Shard(0);
  const BlockEntry& block = shard->block_entry(1);
  const auto tail = LoadAt<ShardTail>(shard->bytes(), shard->bytes().size() - sizeof(ShardTail));
  const std::string file = state->facts->shards[0].file;
  return {
      {"a payload", {file, block.offset + block.bytes / 2}},
      {"a block's header", {file, block.offset + 9}},
      {"a block's table", {file, block.offset + sizeof(BlockHeader) + 30}},
      {"the shard's header", {file, 17}},
      {"the size in the shard's header", {file, 13}},
      {"the schema", {file, sizeof(ShardHeader) + 5}},
      {"the keys", {file, shard->sections()[0].offset + 4}},
      {"the directory", {file, tail.directory_offset + 70}},
      {"the tail", {file, shard->bytes().size() - 40}},
      {"the manifest", {"manifest.json", 200}},
  };
}

LoaderOptions Skipping() {
  LoaderOptions options = OptionsFor(8, 2);
  options.integrity.on_fault = OnFault::kSkip;
  return options;
}

}  // namespace

TEST_CASE("A bit that flips once on its way from a store costs no sample, and no cache keeps it") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 320);
  Loader local(Dataset::Open(path), Skipping());
  const std::vector<PlayedBatch> expected = PlayBatches(local, 0);
  for (const auto& [what, flip] : PlacesIn(path)) {
    INFO(what);
    {
      Loader loader(OpenFlipping(path, flip), Skipping());
      CHECK(PlayBatches(loader, 0) == expected);
      CHECK(loader.Faults().empty());
    }
    LoaderOptions cached = Skipping();
    cached.stage = Stage{folder / ("cache of " + what), 100'000'000};
    {
      Loader loader(OpenFlipping(path, flip), cached);
      CHECK(PlayBatches(loader, 0) == expected);
      CHECK(loader.Faults().empty());
    }
    Loader later(OpenFlipping(path, {}), cached);
    CHECK(PlayBatches(later, 0) == expected);
    CHECK(later.Stats().fetched_bytes == 0);
  }
}

TEST_CASE("A bit that flips once is not a fault when a dataset is verified or inspected") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 64);
  const Dataset local = Dataset::Open(path);
  for (const auto& [what, flip] : PlacesIn(path)) {
    INFO(what);
    {
      FlippingStore store(path, flip);
      Id128 id;
      const Manifest manifest = ReadManifest(store, id);
      CHECK(LookAtShards(store, manifest, {}).shards == 0);
    }
    const Dataset dataset = OpenFlipping(path, flip);
    for (const std::uint64_t number : {0, 20, 63}) {
      const Sample sample = dataset[number];
      CHECK(sample.key() == local[number].key());
      CHECK(sample.Integer("label") == local[number].Integer("label"));
      const ImagePayload payload = sample.Payload();
      const ImagePayload right = local[number].Payload();
      CHECK(std::equal(payload.bytes.begin(), payload.bytes.end(), right.bytes.begin(),
                       right.bytes.end()));
    }
  }
}

TEST_CASE("Data that is damaged in the store is a fault, with and without a cache") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 320);
  auto places = PlacesIn(path);
  for (auto& [what, flip] : places) {
    INFO(what);
    flip.for_ever = true;
    LoaderOptions options = Skipping();
    // No sample needs the keys, and without the manifest the dataset cannot be opened.
    if (what == "the keys" || what == "the manifest") continue;
    // A payload costs its sample, a block's header or table the block, any other place all samples.
    const std::size_t lost = what == "a payload" ? 1 : what.find("a block's") == 0 ? 16 : 320;
    for (const bool cache : {false, true}) {
      if (cache) options.stage = Stage{folder / ("cache of " + what), 100'000'000};
      Loader loader(OpenFlipping(path, flip), options);
      for (const std::uint64_t epoch : {0, 1}) {
        if (lost == 320) {
          CHECK_THROWS_AS(PlayBatches(loader, epoch), Error);
        } else {
          CHECK(SamplesOf(PlayBatches(loader, epoch)).size() == 320 - lost);
        }
      }
    }
  }
}

TEST_CASE("A cache piece that was written damaged is repaired") {
  const TemporaryFolder folder;
  const fs::path path = WriteLargerDataset(folder, 320);
  Loader local(Dataset::Open(path), Skipping());
  const std::vector<PlayedBatch> expected = PlayBatches(local, 0);
  LoaderOptions cached = Skipping();
  cached.stage = Stage{folder / "cache", 100'000'000};
  // This loader does not compare payloads with their checksums, so the cache keeps the damage.
  LoaderOptions careless = cached;
  careless.integrity.verify = Verify::kNever;
  const Flip payload = PlacesIn(path)[0].second;
  {
    Loader loader(OpenFlipping(path, payload), careless);
    CHECK(PlayBatches(loader, 0) != expected);
  }
  {
    Loader loader(OpenFlipping(path, {}), cached);
    CHECK(PlayBatches(loader, 0) == expected);
    CHECK(loader.Faults().empty());
  }
  Loader later(OpenFlipping(path, {}), careless);
  CHECK(PlayBatches(later, 0) == expected);
  CHECK(later.Stats().fetched_bytes == 0);
}
