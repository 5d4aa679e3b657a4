// The source of an epoch's blocks: the shards' mappings (MappedBlocks), memory read past the page
// cache (DirectBlocks), an object store (RemoteBlocks), or files from which samples are made
// (SuppliedBlocks).
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

#include <sluice/duration_histogram.h>
#include <sluice/loader_options.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

class DirectFiles;

class BlockSource {
 public:
  // The data to read. All references must outlive the source. `kept` has the pictures that need no
  // reading; it may be null.
  struct Wanted {
    DatasetState& dataset;
    const FieldChoice& choice;
    const PictureCache* kept = nullptr;
    const std::atomic<bool>& give_up;  // once set, no thread waits for the blocks any more
  };
  virtual ~BlockSource() = default;

  // Blocks opened from now on belong to this epoch.
  virtual void BeginEpoch(std::uint64_t /*epoch*/) {}
  // Asks for a block, by its number in the dataset. `rows` is the number of its rows in this epoch,
  // or 0 if that is unknown.
  virtual void Open(std::uint64_t block, std::uint64_t rows) = 0;
  // The next row of the batch is in that block. Returns the block's memory, which is filled once
  // Await(opened()) returns; null from MappedBlocks and SuppliedBlocks.
  virtual std::shared_ptr<const HeldBlock> Use(std::uint64_t block) = 0;
  // All rows of the batch are planned: begins to read the blocks opened for it, and releases blocks
  // that no batch in the ring needs.
  virtual void EndBatch() = 0;
  // Batches planned from now on need none of the open blocks.
  virtual void CloseAll() = 0;
  // Returns when the first `count` blocks ever opened have been read, or early if the give-up flag
  // is set.
  void Await(std::uint64_t count);
  // Forgets blocks that were opened and are not read yet.
  virtual void Cancel() = 0;

  // Whether rows keep their block's memory until they are decoded. If not, Use() need not be
  // called.
  virtual bool holds_blocks() const noexcept = 0;

  // Suggest(): the source may begin to read a block that a later batch will open; no thread waits
  // for it. MayTakeSuggestions(): whether suggestions are ever useful. TakesSuggestions(): whether
  // they are useful now; to suggest data that is already in memory would only cost time.
  virtual bool MayTakeSuggestions() const noexcept { return false; }
  virtual bool TakesSuggestions() const noexcept { return false; }
  virtual void Suggest(std::uint64_t /*block*/) {}

  std::uint64_t opened() const noexcept { return opened_; }  // blocks, since construction
  // Whether another batch may be planned without waiting.
  bool HasRoom() const noexcept { return begun_ == opened_ && bytes_in_flight_ < depth_bytes_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  // How long Await() waited for each block.
  const DurationHistogram& reads() const noexcept { return reads_; }

  // The bytes that may be in flight.
  std::uint64_t depth_bytes() const noexcept { return depth_bytes_; }
  virtual void SetDepth(std::uint64_t bytes) noexcept { depth_bytes_ = bytes; }

 protected:
  // Await()'s step: begins reads, and finishes the first of the blocks that are being read or waits
  // for a part of them.
  virtual void AwaitSome() = 0;
  explicit BlockSource(const Wanted& wanted)
      : dataset_(wanted.dataset),
        choice_(wanted.choice),
        others_(wanted.kept == nullptr ? wanted.choice : wanted.choice.WithoutImage()),
        kept_(wanted.kept),
        give_up_(wanted.give_up) {}
  bool GivesUp() const noexcept { return give_up_.load(std::memory_order_relaxed); }
  bool AllKept(std::uint64_t block) const noexcept {
    return kept_ != nullptr && kept_->HasAll(dataset_.facts->shape, block);
  }

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // choice_ without the image: for a block whose pictures are all kept
  const PictureCache* const kept_;
  const std::atomic<bool>& give_up_;
  std::uint64_t opened_ = 0;
  // How many of the opened blocks, from the first on, have been begun: all of their wanted parts
  // are in flight or read.
  std::uint64_t begun_ = 0;
  std::uint64_t finished_ = 0;  // how many blocks, from the first on, have been read
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t bytes_read_ = 0;

 private:
  DurationHistogram reads_;
  // Enough for the queues of fast disks.
  std::uint64_t depth_bytes_ = std::uint64_t{16} << 20;
};

// `options` must have been checked. `direct` is null unless the options ask for Direct; it must
// outlive the source.
std::unique_ptr<BlockSource> MakeBlockSource(const BlockSource::Wanted& wanted,
                                             const LoaderOptions& options, DirectFiles* direct);

// The most bytes that blocks take: their own memory, mappings, and bookkeeping about them.
struct BlockSourceBytes {
  std::uint64_t memory = 0, mapped = 0, bookkeeping = 0;
  static BlockSourceBytes Of(const DatasetState& dataset, const LoaderOptions& options);
};

}  // namespace sluice
