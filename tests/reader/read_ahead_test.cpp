// Reading ahead of mapped shards.
#include <chrono>
#include <thread>

#include "reader/pipeline/mapped_read_ahead.h"
#include "tests/reader/cached_pages.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::uint64_t BlockBytes(DatasetState& state, std::uint32_t block) {
  return state.Shard(0).block_entry(block).bytes;
}

}  // namespace

TEST_CASE("What was read ahead is in memory before anybody touches it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  const FieldChoice choice = FieldChoice::Of(*dataset.state(), {});
  const std::atomic<bool> give_up{false};
  if (!DropFromCache(dataset)) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  bool resident = false;
  // A machine that is short of memory may take pages back at once.
  for (int attempt = 0; attempt < 5 && !resident; ++attempt) {
    MappedReadAhead reading(*dataset.state(), choice, nullptr, give_up);
    for (std::uint64_t block = 0; block < 20; ++block)
      reading.Ask(block);
    reading.Begin();
    reading.Await(20);
    CHECK(reading.bytes_read() == 20 * BlockBytes(*dataset.state(), 0));
    resident = CachedBytes(dataset) >= reading.bytes_read();
  }
  CHECK(resident);
}

TEST_CASE("What was suggested is read where blocks had to be read, and nobody waits for it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  DatasetState& state = *dataset.state();
  const FieldChoice choice = FieldChoice::Of(state, {});
  const std::atomic<bool> give_up{false};
  if (!DropFromCache(dataset)) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  MappedReadAhead reading(state, choice, nullptr, give_up);
  reading.Ask(0);
  reading.Begin();
  for (std::uint64_t block = 10; block < 20; ++block)
    reading.Suggest(block);
  CHECK(reading.asked() == 1);
  reading.Await(1);
  CHECK(reading.bytes_read() == BlockBytes(state, 0));
  // As long as a busy disk takes; a machine that is short of memory may take pages back at once.
  for (int look = 1; CachedBytes(dataset) < 11 * BlockBytes(state, 0); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (look % 1000 != 0) continue;
    for (std::uint64_t block = 10; block < 20; ++block)
      reading.Suggest(block);
  }
}

TEST_CASE("No more blocks are in flight than the depth says, and those begin in order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  DatasetState& state = *dataset.state();
  const std::uint64_t bytes = BlockBytes(state, 0);
  const FieldChoice choice = FieldChoice::Of(state, {});
  std::atomic<bool> give_up{false};
  MappedReadAhead reading(state, choice, nullptr, give_up);
  reading.SetDepth(2 * bytes);
  CHECK(reading.HasRoom());
  reading.Ask(3);
  reading.Begin();
  CHECK(reading.HasRoom());
  for (const std::uint64_t block : {7, 1, 9, 4})
    reading.Ask(block);
  CHECK_FALSE(reading.HasRoom());
  reading.Begin();
  CHECK_FALSE(reading.HasRoom());
  reading.Await(2);
  CHECK(reading.bytes_read() == 2 * bytes);
  reading.Await(2);  // nothing is left to wait for
  CHECK(reading.bytes_read() == 2 * bytes);
  give_up.store(true);
  reading.Await(5);
  CHECK(reading.bytes_read() == 2 * bytes);
  reading.Cancel();
  give_up.store(false);
  CHECK(reading.HasRoom());
  reading.Ask(2);
  reading.Begin();
  reading.Await(reading.asked());
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
      options.direct = direct;
      options.read_ahead_bytes = depth;
      Loader loader(dataset, options);
      CHECK(PlayBatches(loader, 1) == expected);
      CHECK(loader.Stats().read_ahead_depth_bytes == depth);
    }
  }
}
