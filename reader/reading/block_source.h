// The source of an epoch's blocks: the shards' mappings (MappedBlocks), memory read past the page
// cache (DirectBlocks), or an object store (RemoteBlocks).
//
// For each batch the planner opens the blocks that the order announces, calls Use() for each row,
// and ends the batch. Blocks are read in the order in which they were opened, with depth_bytes() in
// flight. Reading does not stop between batches, so that the disk's queue does not run empty. A
// block that cannot be opened or read is not an error here: each of its samples fails when it is
// decoded.
//
// Used by the planner thread only; workers read the memory that Use() returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/decoded_cache.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

class DirectFiles;

class BlockSource {
 public:
  virtual ~BlockSource() = default;

  // The blocks opened from now on are of that epoch.
  virtual void BeginEpoch(std::uint64_t /*epoch*/) {}
  // Asks for a block, by its number in the dataset. `rows`: the number of its rows in this epoch;
  // 0: unknown.
  virtual void Open(std::uint64_t block, std::uint64_t rows) = 0;
  // The next row of the batch is in that block. Returns its memory, which is filled once
  // Await(opened()) returns; null unless holds_blocks().
  virtual std::shared_ptr<const HeldBlock> Use(std::uint64_t block) = 0;
  // Whether Use() does anything.
  virtual bool UsesRows() const noexcept { return true; }
  // All rows of the batch are planned: begins to read the blocks opened for it, and releases blocks
  // that no batch in the ring needs.
  virtual void EndBatch() = 0;
  // Batches planned from now on need none of the open blocks.
  virtual void CloseAll() = 0;
  // Returns when the first `count` blocks ever opened have been read, or early if the give-up flag
  // is set.
  virtual void Await(std::uint64_t count) = 0;
  // Forgets blocks that were opened and are not read yet.
  virtual void Cancel() = 0;

  // Whether rows keep their block's memory until they are decoded.
  virtual bool holds_blocks() const noexcept = 0;

  // Suggest(): a block that a later batch will open may be read now, if that needs no memory of the
  // process's own; nobody waits for it. MayTakeSuggestions(): whether that is ever useful.
  // TakesSuggestions(): whether it is now; suggesting data that is in memory already costs time for
  // nothing.
  virtual bool MayTakeSuggestions() const noexcept { return false; }
  virtual bool TakesSuggestions() const noexcept { return false; }
  virtual void Suggest(std::uint64_t /*block*/) {}

  std::uint64_t opened() const noexcept { return opened_; }  // blocks, since the beginning
  // Whether another batch may be planned without waiting.
  bool HasRoom() const noexcept { return begun_ == opened_ && bytes_in_flight_ < depth_bytes_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  // The bytes that may be in flight.
  std::uint64_t depth_bytes() const noexcept { return depth_bytes_; }
  virtual void SetDepth(std::uint64_t bytes) noexcept { depth_bytes_ = bytes; }

 protected:
  std::uint64_t opened_ = 0;
  std::uint64_t begun_ = 0;     // of these: all wanted parts are in flight or read
  std::uint64_t finished_ = 0;  // of these: the first blocks, all read
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t bytes_read_ = 0;

 private:
  // Enough for the queues of fast disks.
  std::uint64_t depth_bytes_ = std::uint64_t{16} << 20;
};

// `options` are checked ones; `kept` may be null, and `direct` is null unless they ask for Direct.
// Everything passed by reference or pointer must outlive the source.
std::unique_ptr<BlockSource> MakeBlockSource(DatasetState& dataset, const LoaderOptions& options,
                                             const FieldChoice& choice, const PictureCache* kept,
                                             DirectFiles* direct, const std::atomic<bool>& give_up);

// The most bytes that blocks take: of memory, of mappings, and of what is noted about them.
struct BlockSourceBytes {
  std::uint64_t memory = 0, mapped = 0, bookkeeping = 0;
  static BlockSourceBytes Of(const DatasetState& dataset, const LoaderOptions& options);
};

}  // namespace sluice
