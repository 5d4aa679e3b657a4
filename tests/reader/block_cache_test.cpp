// The disk cache of blocks from an object store: hits, damage, budget, full disks, several
// processes and kills.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/block_cache.h>

#include "format/disk/manifest.h"
#include "format/remote/cache/cache_folder.h"
#include "reader/order/order.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/remote_dataset.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

LoaderOptions Cached(const std::filesystem::path& folder, std::uint64_t bytes,
                     std::size_t batch_size = 8) {
  LoaderOptions options = OptionsFor(batch_size, 2);
  options.order.lanes = 4;
  options.order.window_bytes = 1'000'000;
  options.stage = Stage{folder.string(), bytes};
  return options;
}

std::vector<PlayedBatch> PlayLocal(const std::filesystem::path& path, LoaderOptions options,
                                   std::uint64_t epoch = 0) {
  options.stage.reset();
  Loader loader(Dataset::Open(path), options);
  return PlayBatches(loader, epoch);
}

// Bytes of all blocks.
std::uint64_t BlockBytes(const std::filesystem::path& path) {
  const auto state = DatasetState::Open(path);
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < state->facts->shards.size(); ++s) {
    const ShardUse shard = state->table.Shard(s);
    for (std::uint32_t b = 0; b < shard->blocks(); ++b)
      bytes += shard->block_entry(b).bytes;
  }
  return bytes;
}

std::filesystem::path OnlyDatasetIn(const std::filesystem::path& cache) {
  const std::vector<CachedDataset> datasets = DatasetsInCache(cache);
  REQUIRE(datasets.size() == 1);
  return cache / datasets[0].id;
}

}  // namespace

TEST_CASE("the second epoch, and the next loader, fetch nothing that the cache holds", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);
  const LoaderOptions options = Cached(folder / "cache", 100'000'000);
  std::uint64_t fetched = 0;
  {
    Loader loader(OpenRemote(path), options);
    CHECK(PlayBatches(loader, 0) == PlayLocal(path, options));
    fetched = loader.Stats().fetched_bytes;
    CHECK(fetched >= BlockBytes(path));
    CHECK(PlayBatches(loader, 1) == PlayLocal(path, options, 1));
    CHECK(loader.Stats().fetched_bytes == fetched);
  }
  Loader later(OpenRemote(path), options);
  CHECK(PlayBatches(later, 0) == PlayLocal(path, options));
  CHECK(later.Stats().fetched_bytes == 0);
  CHECK(later.Stats().cached_bytes >= BlockBytes(path));
  const std::vector<CachedDataset> datasets = DatasetsInCache(folder / "cache");
  REQUIRE(datasets.size() == 1);
  CHECK(datasets[0].bytes == fetched);
  CHECK(datasets[0].in_use);
}

TEST_CASE("what the cache holds is used after shards were added, and by the version before",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);
  const LoaderOptions options = Cached(folder / "cache", 100'000'000);
  // The dataset after an append: its own shards, then others. Made by hand, so that no command is
  // needed: the shards of a second dataset under other names.
  const TemporaryFolder more;
  const auto added = WriteLargerDataset(more, 160);
  Id128 id;
  Manifest longer = ReadManifest(path, id);
  const Manifest other = ReadManifest(added, id);
  std::uint64_t number = 0;
  for (ManifestShard shard : other.shards) {
    const std::string name = "added-" + std::to_string(number++) + ".sluice";
    std::filesystem::copy_file(added / shard.file, path / name);
    shard.file = name;
    longer.shards.push_back(shard);
    longer.samples += shard.samples;
  }
  longer.images[0].Add(other.images[0]);
  for (std::size_t c = 0; c < longer.class_counts.size(); ++c)
    longer.class_counts[c] += other.class_counts[c];
  for (std::size_t v = 0; v < longer.values.size(); ++v)
    longer.values[v].Add(other.values[v]);
  std::ifstream old(path / "manifest.json");
  const std::string before{std::istreambuf_iterator<char>(old), {}};
  std::uint64_t fetched = 0;
  {
    Loader loader(OpenRemote(path), options);
    PlayBatches(loader, 0);
    fetched = loader.Stats().fetched_bytes;
  }
  const std::string text = ManifestToJson(longer, id);
  std::ofstream(path / "manifest.json") << text;
  {
    Loader loader(OpenRemote(path), options);
    CHECK(PlayBatches(loader, 0) == PlayLocal(path, options));
    // Only the shards that were added, with their frames.
    CHECK(loader.Stats().fetched_bytes >= BlockBytes(added));
    CHECK(loader.Stats().fetched_bytes <= BlockBytes(added) + 100'000);
    CHECK(loader.Stats().cached_bytes >= fetched - 100'000);
  }
  CHECK(DatasetsInCache(folder / "cache").size() == 1);
  std::ofstream(path / "manifest.json") << before;
  {
    Loader loader(OpenRemote(path), options);
    CHECK(PlayBatches(loader, 0) == PlayLocal(path, options));
    CHECK(loader.Stats().fetched_bytes == 0);
  }
  // A dataset that only begins like it has a folder of its own.
  longer.shards.back().digest.bytes[0] ^= 1;
  CHECK(CacheFolderOf(SharedFolder::Open(folder / "cache"),
                      [&] {
                        CachedShards shards;
                        for (const ManifestShard& shard : longer.shards)
                          shards.push_back({shard.id, shard.digest, shard.bytes, shard.blocks});
                        return shards;
                      }())
            .second.empty());
}

TEST_CASE("a cached block that differs from the fetched one is found and fetched again",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 320);
  LoaderOptions options = Cached(folder / "cache", 100'000'000);
  options.integrity.verify = Verify::kNever;  // only the cache's own hashes can tell
  const std::vector<PlayedBatch> expected = PlayLocal(path, options);
  {
    Loader loader(OpenRemote(path), options);
    PlayBatches(loader, 0);
  }
  const std::filesystem::path cached = OnlyDatasetIn(folder / "cache");
  SECTION("zeros where the disk has lost pages") {
    const int file = open((cached / "data").c_str(), O_WRONLY);
    REQUIRE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1'000'000, 500'000) == 0);
    close(file);
  }
  SECTION("a byte changed") {
    std::fstream(cached / "data").seekp(2'000'000).put('!');
  }
  SECTION("records changed") {
    // A piece is what the cache fetches and evicts as a whole: one of the five parts of the shard's
    // frame, a block's header and table, or a block's payloads. The table has a page, then a record
    // of 40 bytes for each piece. This changes the record of piece 8, the payloads of block 1.
    std::fstream(cached / "pieces").seekp(4096 + 8 * 40 + 8 + 3).put('!');
  }
  SECTION("a table of nonsense") {
    std::fstream file(cached / "pieces");
    for (int i = 0; i < 4096 + 46 * 40; ++i)  // more than all pieces have
      file.put(static_cast<char>(i * 7));
  }
  SECTION("no table") {
    std::filesystem::resize_file(cached / "pieces", 0);
  }
  Loader loader(OpenRemote(path), options);
  CHECK(PlayBatches(loader, 0) == expected);
  CHECK(loader.Stats().fetched_bytes > 0);
}

TEST_CASE("a loader loses no sample if its cache's table is truncated during playing", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 320);
  const LoaderOptions options = Cached(folder / "cache", 100'000'000);
  Loader loader(OpenRemote(path), options);
  PlayBatches(loader, 0, 3);
  std::filesystem::resize_file(OnlyDatasetIn(folder / "cache") / "pieces", 0);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
    CHECK(PlayBatches(loader, epoch) == PlayLocal(path, options, epoch));
  CHECK(loader.Faults().empty());
}

TEST_CASE("two loaders on one cache fetch each block once", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);
  LoaderOptions options = Cached(folder / "cache", 100'000'000);
  const SlowLink link{3ms, 40'000'000, 0.05, 8};
  SECTION("each plays all of it") {}
  SECTION("each is a rank") {
    options.ranks = {.rank = 0, .world_size = 2};
  }
  LoaderOptions other = options;
  other.ranks.rank = options.ranks.world_size == 2 ? 1 : 0;
  Loader first(OpenRemote(path, link), options);
  Loader second(OpenRemote(path, link), other);
  std::vector<PlayedBatch> theirs;
  {
    std::jthread thread([&] { theirs = PlayBatches(second, 0); });
    CHECK(PlayBatches(first, 0) == PlayLocal(path, options));
  }
  CHECK(theirs == PlayLocal(path, other));
  const std::uint64_t fetched = first.Stats().fetched_bytes + second.Stats().fetched_bytes;
  // Each shard's frame (header and directory) is fetched in addition.
  CHECK(fetched >= BlockBytes(path));
  CHECK(fetched <= BlockBytes(path) + 100'000);
}

TEST_CASE("a cache keeps to its budget, and blocks that do not fit into it are played, too",
          "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 960);  // 60 blocks of 200 kB
  const std::uint64_t budget = GENERATE(1'000u, 900'000u, 6'000'000u);
  const LoaderOptions options = Cached(folder / "cache", budget);
  Loader loader(OpenRemote(path), options);
  for (const std::uint64_t epoch : {0, 1, 2}) {
    CHECK(PlayBatches(loader, epoch) == PlayLocal(path, options, epoch));
    CHECK(DatasetsInCache(folder / "cache")[0].bytes <= budget);
  }
  CHECK(loader.Stats().past_cache_bytes > 0);
}

TEST_CASE("a cache of half the dataset fetches again no more than Belady's minimum", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 960);
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = Cached(folder / "cache", 0);
  options.order.lanes = 1;
  options.order.window_bytes = 1;  // one block at a time
  options.threads = 1;
  options.ring.prefetch = 1;
  const std::uint64_t blocks = dataset.shards()[0].blocks;
  const std::uint64_t block_bytes = BlockBytes(path) / blocks;
  REQUIRE(block_bytes * blocks == BlockBytes(path));
  const std::uint64_t room = blocks / 2;
  const std::uint64_t frame = 100'000;  // more than the shard's header and directory take
  options.stage->bytes = room * block_bytes + frame;
  constexpr std::uint64_t kEpochs = 4;
  Loader loader(OpenRemote(path), options);
  std::vector<std::uint64_t> uses;  // blocks, in the order of their use
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch)
    for (const std::uint64_t sample : SamplesOf(PlayBatches(loader, epoch)))
      if (uses.empty() || uses.back() != sample / 16) uses.push_back(sample / 16);
  REQUIRE(uses.size() >= kEpochs * blocks - kEpochs);
  // The smallest possible number of fetches if a fetched block need not be cached. The cache has
  // room for `slots` blocks.
  const auto least = [&](std::uint64_t slots) {
    const auto next_use = [&](std::size_t at) {
      const auto next =
          std::find(uses.begin() + static_cast<std::ptrdiff_t>(at) + 1, uses.end(), uses[at]);
      // A block that is not used again gets the end. (The loader knows only the next epoch, but
      // each block comes in every epoch, so looking further changes nothing.)
      return static_cast<std::size_t>(next - uses.begin());
    };
    std::uint64_t fetched = 0;
    std::map<std::uint64_t, std::size_t> kept;  // block -> its next use
    for (std::size_t at = 0; at < uses.size(); ++at) {
      fetched += kept.erase(uses[at]) == 0 ? 1 : 0;
      kept[uses[at]] = next_use(at);
      if (kept.size() <= slots) continue;
      kept.erase(std::max_element(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      }));
    }
    return fetched;
  };
  // Rounded down, since the shard's frame was fetched, too: it is smaller than a block.
  const std::uint64_t fetched = (loader.Stats().fetched_bytes - 1) / block_bytes;
  // Blocks in use cannot be evicted: those of the ring, of the current batch and those read ahead.
  constexpr std::uint64_t kInUse = 8;
  INFO("least " << least(room) << " of " << uses.size());
  CHECK(fetched >= least(room));
  CHECK(fetched <= least(room - kInUse));
}

TEST_CASE("a dataset that no process uses makes room for another", "[remote]") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const auto old = WriteLargerDataset(other, 320);
  const auto path = WriteLargerDataset(folder, 640);
  const LoaderOptions options = Cached(folder / "cache", 9'000'000);
  {
    Loader loader(OpenRemote(old), options);
    PlayBatches(loader, 0);
  }
  CHECK(DatasetsInCache(folder / "cache").size() == 1);
  std::filesystem::create_directory(folder / "cache/0123456789abcdef0123456789abcdef");
  std::ofstream(folder / "cache/0123456789abcdef0123456789abcdef/pieces") << "mine";
  std::ofstream(folder / "cache/0123456789abcdef0123456789abcdef/thesis.tex") << "mine";
  Loader loader(OpenRemote(path), options);
  PlayBatches(loader, 0);
  const std::vector<CachedDataset> left = DatasetsInCache(folder / "cache");
  REQUIRE(left.size() == 1);
  CHECK(left[0].id == CacheNameOf(path));
  CHECK(std::filesystem::exists(folder / "cache/0123456789abcdef0123456789abcdef/thesis.tex"));
}

TEST_CASE("a loader plays without its cache if the cache's disk is full", "[remote]") {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);  // 8 MB
  const std::filesystem::path small = folder / "small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=3m") != 0) {
    WARN("skipped: only root may mount a small disk");
    return;
  }
  {
    const LoaderOptions options = Cached(small / "cache", 100'000'000);
    Loader loader(OpenRemote(path), options);
    for (const std::uint64_t epoch : {0, 1})
      CHECK(PlayBatches(loader, epoch) == PlayLocal(path, options, epoch));
    CHECK(loader.Stats().past_cache_bytes > 4'000'000);
    CHECK(loader.Stats().cached_bytes > 1'000'000);
  }
  umount2(small.c_str(), MNT_DETACH);
}

namespace {

// Starts a process that fills the cache and kills it after 3 to 122 ms, `times` times. After every
// fourth kill, checks in another process that a loader with this cache plays the right batches.
void KillAtRandom(int times) {
  const TemporaryFolder folder;
  const auto path = WriteLargerDataset(folder, 640);
  const SlowLink link{1ms, 400'000'000, 0.05, 8};
  LoaderOptions options = Cached(folder / "cache", 5'000'000);  // also evicts blocks
  options.integrity.verify = Verify::kNever;
  const std::vector<PlayedBatch> expected = PlayLocal(path, options, 1);
  for (int i = 0; i < times; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Loader loader(OpenRemote(path, link), options);
      for (std::uint64_t epoch = 0;; ++epoch)
        PlayBatches(loader, epoch);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + (i * 37) % 120));
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    if (i % 4 != 3) continue;
    // In a child, because this process must have no threads when it forks again.
    CHECK(InChild([&] {
            Loader loader(OpenRemote(path, link), options);
            const bool same = PlayBatches(loader, 1) == expected;
            const std::vector<CachedDataset> cached = DatasetsInCache(folder / "cache");
            return same && cached.size() == 1 && cached[0].bytes <= options.stage->bytes;
          }) == 0);
  }
}

}  // namespace

TEST_CASE("a process that is killed while it fills a cache leaves a good one", "[remote]") {
  if (!kForks) return;
  KillAtRandom(12);
}

TEST_CASE("a process that is killed 200 times leaves a good cache", "[remote][slow]") {
  if (!kForks) return;
  KillAtRandom(200);
}
