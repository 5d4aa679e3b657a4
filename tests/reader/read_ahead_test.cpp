// Reading ahead of mapped shards.
#include <chrono>
#include <thread>

#include <sys/mman.h>

#include "reader/reading/mapped_blocks.h"
#include "tests/reader/cached_pages.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::uint64_t BlockBytes(DatasetState& state, std::uint32_t block) {
  return state.table.Shard(0)->block_entry(block).bytes;
}

}  // namespace

TEST_CASE("Blocks read ahead are in memory before a thread touches them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  const FieldChoice choice = FieldChoice::Of(*dataset.state(), {});
  const std::atomic<bool> give_up{false};
  if (!DropFromCache(dataset)) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  bool resident = false;
  // A machine that is short of memory may drop pages at once.
  for (int attempt = 0; attempt < 5 && !resident; ++attempt) {
    MappedBlocks reading({*dataset.state(), choice, nullptr, give_up});
    for (std::uint64_t block = 0; block < 20; ++block)
      reading.Open(block, 0);
    reading.EndBatch();
    reading.Await(20);
    CHECK(reading.bytes_read() == 20 * BlockBytes(*dataset.state(), 0));
    resident = CachedBytes(dataset) >= reading.bytes_read();
  }
  CHECK(resident);
}

TEST_CASE("Suggested blocks are read if earlier ones came from disk, and nobody waits for them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  DatasetState& state = *dataset.state();
  const FieldChoice choice = FieldChoice::Of(state, {});
  const std::atomic<bool> give_up{false};
  if (!DropFromCache(dataset)) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  MappedBlocks reading({state, choice, nullptr, give_up});
  reading.Open(0, 0);
  reading.EndBatch();
  for (std::uint64_t block = 10; block < 20; ++block)
    reading.Suggest(block);
  CHECK(reading.opened() == 1);
  reading.Await(1);
  CHECK(reading.bytes_read() == BlockBytes(state, 0));
  // Waits as long as a busy disk takes. A machine that is short of memory may drop pages at once,
  // so the blocks are suggested again from time to time.
  for (int look = 1; CachedBytes(dataset) < 11 * BlockBytes(state, 0); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (look % 1000 != 0) continue;
    for (std::uint64_t block = 10; block < 20; ++block)
      reading.Suggest(block);
  }
}

TEST_CASE("Suggestions are accepted if blocks are not in memory, and only for whole blocks") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 64));
  DatasetState& state = *dataset.state();
  const ShardFile& shard = *state.table.Shard(0);
  const BlockEntry& entry = shard.block_entry(2);
  const Bytes block = shard.bytes().subspan(entry.offset, entry.bytes);
  auto* const pages = const_cast<std::byte*>(block.data());
  std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  MappedBlocks reading({state, choice, nullptr, give_up});
  CHECK_FALSE(reading.TakesSuggestions());  // nothing is known yet
  const auto read = [](MappedBlocks& by) {
    by.Open(2, 0);
    by.EndBatch();
    const bool takes = by.TakesSuggestions();
    by.Await(by.opened());
    return takes;
  };
  REQUIRE(madvise(pages, block.size(), MADV_DONTNEED) == 0);
  CHECK(read(reading));
  give_up.store(true);
  CHECK_FALSE(reading.TakesSuggestions());
  give_up.store(false);
  LoaderOptions only_labels;
  only_labels.output.fields = {"label"};
  const FieldChoice labels = FieldChoice::Of(state, only_labels);
  MappedBlocks in_part({state, labels, nullptr, give_up});
  REQUIRE(madvise(pages, block.size(), MADV_DONTNEED) == 0);
  CHECK_FALSE(read(in_part));
  if (mlock(pages, block.size()) != 0 || !PageMap().HasAll(block)) {
    WARN("skipped: nothing may be locked in memory, or the kernel does not tell");
    return;
  }
  CHECK_FALSE(read(reading));
}

TEST_CASE("No more blocks are in flight than the depth allows, and they begin in order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  DatasetState& state = *dataset.state();
  const std::uint64_t bytes = BlockBytes(state, 0);
  const FieldChoice choice = FieldChoice::Of(state, {});
  std::atomic<bool> give_up{false};
  MappedBlocks reading({state, choice, nullptr, give_up});
  reading.SetDepth(2 * bytes);
  CHECK(reading.HasRoom());
  reading.Open(3, 0);
  reading.EndBatch();
  CHECK(reading.HasRoom());
  for (const std::uint64_t block : {7, 1, 9, 4})
    reading.Open(block, 0);
  CHECK_FALSE(reading.HasRoom());
  reading.EndBatch();
  CHECK_FALSE(reading.HasRoom());
  reading.Await(2);
  CHECK(reading.bytes_read() == 2 * bytes);
  reading.Await(2);  // no block is left to wait for
  CHECK(reading.bytes_read() == 2 * bytes);
  give_up.store(true);
  reading.Await(5);
  CHECK(reading.bytes_read() == 2 * bytes);
  reading.Cancel();
  give_up.store(false);
  CHECK(reading.HasRoom());
  reading.Open(2, 0);
  reading.EndBatch();
  reading.Await(reading.opened());
  CHECK(reading.bytes_read() == 3 * bytes);
}

TEST_CASE("Whatever the depth of reading ahead, batches are the same") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 640));
  LoaderOptions options = OptionsFor(24, 2);
  Loader usual(dataset, options);
  const std::vector<PlayedBatch> expected = PlayBatches(usual, 1);
  for (const bool direct : {false, true}) {
    for (const std::uint64_t depth : {std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
      if (direct) {
        options.storage = Direct{depth};
      } else {
        options.storage = Mapped{.read_ahead_bytes = depth};
      }
      Loader loader(dataset, options);
      CHECK(PlayBatches(loader, 1) == expected);
      CHECK(loader.Stats().read_ahead_depth_bytes == depth);
    }
  }
}
