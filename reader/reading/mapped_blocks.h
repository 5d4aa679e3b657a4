// Blocks of mapped shards: read ahead into the page cache and this process's page tables
// (MappedBlocks), and released once they are played (BlocksBehind).
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/page_map.h"

namespace sluice {

// Finds the blocks that the order's window has passed: all their rows of the epoch have been
// planned. Releases them as Mapped::behind says.
//
// A block is open from when the order announces it until all its rows of the epoch are planned. At
// that time workers may still be decoding these rows. But each batch needs a free slot of the ring:
// once as many further batches as the ring has slots are planned, the batch of the block's last row
// has been delivered. Then the block is released. If a thread touches it later (for a substitute),
// the kernel reads it again.
//
// Used by the planner thread only.
class BlocksBehind {
 public:
  // Empty for Behind::kKeep, and for Shuffle::kRandom, whose window never passes a block. `dataset`
  // must outlive the object. `options` must have been checked.
  static std::optional<BlocksBehind> For(DatasetState& dataset, const LoaderOptions& options);

  // The order has announced a block. `block` is its index in the dataset, and `rows` the number of
  // its rows in this epoch, or 0 if that is unknown.
  void Open(std::uint64_t block, std::uint64_t rows);
  // Reading of a block has begun, and the order will announce the block later.
  void Expect(std::uint64_t block);
  // A row of the block has been planned.
  void Use(std::uint64_t block);
  // All rows of the batch are planned: releases the blocks that are due.
  void EndBatch();
  // Batches planned from now on need none of the open blocks.
  void CloseAll();
  // Call this before reading from a shard.
  void PrepareShard(std::uint32_t shard, const ShardFile& file);
  // Call it once the block has been read and mapped. The kernel has mapped the block's surroundings
  // as well; unmaps them, up to the next blocks that are still needed.
  void Trim(std::uint64_t block) const;

 private:
  BlocksBehind(DatasetState& dataset, const LoaderOptions& options);
  void Release(std::uint64_t block) const;
  bool Needed(std::uint64_t block) const;
  // A block's surroundings in its shard, up to the nearest block that is needed or, with
  // `up_to_expected`, that is needed or expected.
  struct Around {
    ShardUse shard;  // null: the shard is not mapped
    std::uint64_t begin = 0;
    std::uint64_t block_begin = 0;
    std::uint64_t block_end = 0;
    std::uint64_t end = 0;
  };
  Around AroundOf(std::uint64_t block, bool up_to_expected) const;

  DatasetState& dataset_;
  const Behind behind_;
  const bool one_at_a_time_;  // Shuffle::kSequential
  const std::size_t ring_;    // slots of the ring
  // The file that was prepared last for each shard; valid while it stays mapped.
  std::vector<const ShardFile*> prepared_;
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // block -> rows still to come
  // Blocks of Expect(), which must stay in the page cache; only for Behind::kDrop.
  std::unordered_set<std::uint64_t> expected_;
  std::vector<std::uint64_t> closed_;               // blocks that the current batch has closed
  std::deque<std::vector<std::uint64_t>> waiting_;  // those of earlier batches, oldest first
  // block -> how many of the lists in closed_ and waiting_ have it.
  std::unordered_map<std::uint64_t, unsigned> waits_;
};

// Reads blocks of mapped shards into the page cache and this process's page tables. If fields are
// left out, or all pictures of a block are kept, reads only the needed parts of the block.
class MappedBlocks : public BlockSource {
 public:
  // If `behind` is empty, blocks stay mapped after they are played.
  explicit MappedBlocks(const Wanted& wanted, std::optional<BlocksBehind> behind = {})
      : BlockSource(wanted), behind_(std::move(behind)) {}

  // The most bytes of shards that are mapped into memory.
  static std::uint64_t MappedBytes(const DatasetFacts& dataset, const LoaderOptions& options);

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override;
  bool UsesRows() const noexcept override { return behind_.has_value(); }
  void EndBatch() override;
  void CloseAll() override;
  void Cancel() override;
  bool holds_blocks() const noexcept override { return false; }
  bool MayTakeSuggestions() const noexcept override;
  bool TakesSuggestions() const noexcept override;
  void Suggest(std::uint64_t block) override;

 private:
  void AwaitSome() override;
  // A wanted part of a block. `there` says whether the part was in this process's page tables
  // already. If the dataset fits into memory, most parts that an earlier epoch has read are there.
  struct Part {
    Bytes bytes;
    bool there = false;
  };
  struct Reading {
    std::uint64_t block = 0;
    ShardUse shard;  // keeps the parts mapped; null: the shard cannot be opened
    std::vector<Part> parts;
  };
  void Begin();
  ShardUse ShardOf(const SampleRef& first);
  void FinishFront();

  std::deque<std::uint64_t> queue_;
  std::deque<Reading> in_flight_;
  PageMap page_map_;
  bool cold_ = false;  // whether the part begun last was not in this process's page tables
  std::optional<BlocksBehind> behind_;
};

}  // namespace sluice
