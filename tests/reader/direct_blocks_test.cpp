// Blocks read past the page cache, as a loader with LoaderOptions::storage = Direct reads them.
#include "reader/reading/direct/direct_blocks.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include "tests/reader/cached_pages.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// The bytes of a block of a WriteLargerDataset, which holds 16 pictures.
std::uint64_t BlockBytes(const Dataset& dataset) {
  return dataset.state()->table.Shard(0)->block_entry(0).bytes;
}

}  // namespace

TEST_CASE("Where a file system refuses O_DIRECT, reads use the page cache and drop its pages") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  const bool drops = DropFromCache(dataset);
  DatasetState& state = *dataset.state();
  const auto memory = std::make_shared<BlockMemory>(50'000'000);
  DirectFiles files(memory, true);
  const std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files);
  for (std::uint64_t block = 0; block < 20; ++block)
    reading.Open(block, 16);
  reading.EndBatch();
  reading.Await(20);
  CHECK(files.refused() == 1);
  for (std::uint64_t block = 0; block < 20; ++block) {
    const auto held = reading.Use(block);
    const Bytes mapped = state.table.Shard(0)->bytes().subspan(
        state.table.Shard(0)->block_entry(static_cast<std::uint32_t>(block)).offset,
        held->bytes().size());
    CHECK(std::equal(mapped.begin(), mapped.end(), held->bytes().begin(), held->bytes().end()));
  }
  if (drops) CHECK(files.memory().in_use() >= 20 * BlockBytes(dataset));
}

TEST_CASE("If reads with O_DIRECT fail, the shard's later reads do without it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 320));
  DatasetState& state = *dataset.state();
  const std::atomic<bool> give_up{false};
  for (const bool labels : {false, true}) {  // if true, only the blocks' tables are read
    LoaderOptions options;
    if (labels) options.output.fields = {"label"};
    const FieldChoice choice = FieldChoice::Of(state, options);
    for (const std::uint64_t depth : {std::uint64_t{1}, std::uint64_t{50'000'000}}) {
      std::atomic<int> refusals{0};
      const auto refuse = [&refusals](FileRead& read) {
        if ((fcntl(read.file, F_GETFL) & O_DIRECT) == 0) return ReadNow(read);
        read.error = EINVAL;
        ++refusals;
      };
      DirectFiles files(std::make_shared<BlockMemory>(50'000'000), false, refuse);
      DirectBlocks reading({state, choice, nullptr, give_up}, options, files);
      reading.SetDepth(depth);
      for (std::uint64_t block = 0; block < 20; ++block)
        reading.Open(block, 16);
      reading.EndBatch();
      reading.Await(20);
      CHECK(refusals <= (depth == 1 ? 1 : 20));  // one for each block being read
      CHECK(files.refused() == 1);
      for (std::uint32_t block = 0; block < 20; ++block) {
        const auto held = reading.Use(block);
        REQUIRE(held->read());
        const BlockEntry& entry = state.table.Shard(0)->block_entry(block);
        const Bytes mapped = state.table.Shard(0)->bytes().subspan(entry.offset, entry.bytes);
        const std::size_t bytes = labels ? HeldBlock::TableBytes(*state.table.Shard(0), block)
                                         : static_cast<std::size_t>(entry.bytes);
        CHECK(std::equal(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(bytes),
                         held->bytes().begin()));
      }
    }
  }
}

TEST_CASE("The memory of blocks is reused for further blocks") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 640));
  DatasetState& state = *dataset.state();
  const std::uint64_t bytes = BlockBytes(dataset);
  const std::uint64_t budget = 6 * (bytes + bytes / 8);
  DirectFiles files(std::make_shared<BlockMemory>(budget));
  const std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files);
  for (std::uint64_t block = 0; block < 40; block += 4) {
    for (std::uint64_t b = block; b < block + 4; ++b)
      reading.Open(b, 1);
    reading.EndBatch();
    reading.Await(reading.opened());
    for (std::uint64_t b = block; b < block + 4; ++b) {
      const auto held = reading.Use(b);
      REQUIRE(held->read());
      const BlockView view = held->View(*state.table.Shard(0), static_cast<std::uint32_t>(b));
      REQUIRE(view.count() == 16);
    }
    CHECK(files.memory().allocated() <= budget);
  }
  CHECK(reading.bytes_read() == 40 * bytes);
  CHECK(reading.opened() == 40);
}

TEST_CASE(
    "If memory does not suffice for all open blocks, blocks that were closed are read again") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 160));
  DatasetState& state = *dataset.state();
  const std::uint64_t bytes = BlockBytes(dataset);
  const std::uint64_t budget = 3 * (bytes + bytes / 8);
  DirectFiles files(std::make_shared<BlockMemory>(budget));
  const std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t block = 0; block < 10; ++block) {
      if (round == 0) reading.Open(block, 3);
      const auto held = reading.Use(block);
      reading.EndBatch();
      reading.Await(reading.opened());
      REQUIRE(held->read());
      REQUIRE(held->View(*state.table.Shard(0), static_cast<std::uint32_t>(block)).count() == 16);
      CHECK(files.memory().in_use() <= budget);
    }
  }
  CHECK(reading.opened() == 30);
}

TEST_CASE("Blocks without memory to read ahead into are not waited for, and the others are read") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 160));
  DatasetState& state = *dataset.state();
  const std::atomic<bool> give_up{false};
  for (const bool labels : {false, true}) {  // if true, only the blocks' tables are read
    LoaderOptions options;
    if (labels) options.output.fields = {"label"};
    const FieldChoice choice = FieldChoice::Of(state, options);
    std::atomic<int> asked{0};
    const auto run_short = [&asked](FileRead& read) {
      if (++asked % 3 == 0) throw std::bad_alloc();
      ReadNow(read);
    };
    DirectFiles files(std::make_shared<BlockMemory>(50'000'000), false, run_short);
    DirectBlocks reading({state, choice, nullptr, give_up}, options, files);
    std::vector<std::shared_ptr<const HeldBlock>> blocks;
    for (std::uint64_t block = 0; block < 10; ++block) {
      reading.Open(block, 1);
      blocks.push_back(reading.Use(block));
    }
    reading.EndBatch();
    reading.Await(reading.opened());
    CHECK(std::count_if(blocks.begin(), blocks.end(),
                        [](const auto& block) { return !block->read(); }) == 3);
    for (std::uint32_t block = 0; block < 10; ++block)
      if (blocks[block]->read())
        CHECK(blocks[block]->View(*state.table.Shard(0), block).count() == 16);
  }
}

TEST_CASE("Blocks that are not yet in flight are not read once no batch needs them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 640));
  DatasetState& state = *dataset.state();
  DirectFiles files(std::make_shared<BlockMemory>(50'000'000));
  std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files);
  reading.SetDepth(1);  // one block at a time
  for (std::uint64_t block = 0; block < 40; ++block)
    reading.Open(block, 16);
  reading.EndBatch();
  reading.Await(2);
  give_up.store(true);
  reading.Await(40);
  reading.Cancel();
  CHECK(reading.bytes_read() >= 2 * BlockBytes(dataset));
  CHECK(reading.bytes_read() <= 3 * BlockBytes(dataset));
}

TEST_CASE("If no thread can be started to read blocks, the calling thread reads them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 160));
  DatasetState& state = *dataset.state();
  DirectFiles files(std::make_shared<BlockMemory>(50'000'000));
  const std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, {});
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files, 0);
  for (std::uint64_t block = 0; block < 10; ++block)
    reading.Open(block, 1);
  reading.EndBatch();
  reading.Await(10);
  CHECK(reading.bytes_read() == 10 * BlockBytes(dataset));
}
