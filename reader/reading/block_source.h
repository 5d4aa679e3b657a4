// Where the blocks of an epoch come from: a shard's mapping (MappedBlocks) or memory read past the
// page cache (DirectBlocks).
//
// For each batch the planner opens the blocks that the order announces, uses each block once for
// each of its rows, and ends the batch. Blocks are read in the order in which they were opened,
// with so many bytes in flight, across batches, so that the device's queue does not run empty at a
// batch's end. A block that cannot be opened or read is no error here: each of its samples says so
// when it is decoded.
//
// Used by the planner thread alone; workers read the memory that Use() returned.
#pragma once

#include <cstdint>
#include <memory>

#include "reader/reading/direct/held_block.h"

namespace sluice {

class BlockSource {
 public:
  virtual ~BlockSource() = default;

  // Asks for a block, by its number in the dataset. `rows` of it come in this epoch; 0: unknown.
  virtual void Open(std::uint64_t block, std::uint64_t rows) = 0;
  // The next row of the batch lies in that block. Its memory, which is filled once
  // Await(opened()) returns; null unless holds_blocks().
  virtual std::shared_ptr<const HeldBlock> Use(std::uint64_t block) = 0;
  // All rows of the batch are planned: begins to read what was opened for it, and lets go of blocks
  // that no batch in the ring needs.
  virtual void EndBatch() = 0;
  // No batch that is yet to be planned needs an open block.
  virtual void CloseAll() = 0;
  // Returns when the first `count` blocks that were ever opened have been read, or early once the
  // flag that gives up is set.
  virtual void Await(std::uint64_t count) = 0;
  // Forgets what was opened and is not read yet.
  virtual void Cancel() = 0;

  // Whether rows keep their block's memory until they are decoded.
  virtual bool holds_blocks() const noexcept = 0;

  // A block that will be opened in a later batch may be read meanwhile, if that takes no memory of
  // the process's own; nobody waits for it. `may`: whether it is ever of use. `takes`: whether it
  // is now; suggesting data that is in memory already costs time and brings nothing.
  virtual bool MayTakeSuggestions() const noexcept { return false; }
  virtual bool TakesSuggestions() const noexcept { return false; }
  virtual void Suggest(std::uint64_t /*block*/) {}

  std::uint64_t opened() const noexcept { return opened_; }  // blocks, ever
  // Whether another batch may be planned without waiting.
  bool HasRoom() const noexcept { return begun_ == opened_ && bytes_in_flight_ < depth_bytes_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  // So many bytes may be in flight.
  std::uint64_t depth_bytes() const noexcept { return depth_bytes_; }
  void SetDepth(std::uint64_t bytes) noexcept { depth_bytes_ = bytes; }

 protected:
  std::uint64_t opened_ = 0;
  std::uint64_t begun_ = 0;     // of these: with all that is wanted of them in flight or read
  std::uint64_t finished_ = 0;  // of these: the first so many are read
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t bytes_read_ = 0;

 private:
  // Enough for the queues of fast disks.
  std::uint64_t depth_bytes_ = std::uint64_t{16} << 20;
};

}  // namespace sluice
