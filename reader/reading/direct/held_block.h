// A block that rows hold until they are decoded (HeldBlock), and memory for blocks that are read
// past the page cache (BlockMemory).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/disk/block.h"
#include "format/disk/shard.h"
#include "format/mutex.h"
#include "reader/dataset/field_choice.h"
#include "reader/dataset/shard_table.h"
#include "reader/reading/memory.h"

namespace sluice {

// Page-aligned memory for blocks that are read past the page cache, reused from block to block.
//
// Thread-safe. Memory given back is kept for the next block, unless that would exceed the budget;
// then it is returned to the system.
class BlockMemory : public std::enable_shared_from_this<BlockMemory> {
 public:
  explicit BlockMemory(std::uint64_t budget) : budget_(budget) {}

  // A piece of memory. Its destructor gives it back to its BlockMemory, which it keeps alive.
  class Piece {
   public:
    Piece() = default;
    Piece(Piece&&) noexcept = default;
    Piece& operator=(Piece&& other) noexcept;
    ~Piece();
    std::byte* data() const noexcept { return buffer_.data(); }

   private:
    friend class BlockMemory;
    Piece(std::shared_ptr<BlockMemory> home, HostBuffer buffer)
        : home_(std::move(home)), buffer_(std::move(buffer)) {}
    std::shared_ptr<BlockMemory> home_;
    HostBuffer buffer_;
  };

  // Returns a piece of at least `bytes`. May exceed the budget: the caller must keep to it. Throws
  // std::bad_alloc.
  Piece Take(std::uint64_t bytes);

  // Whether the budget has room for a piece of that many bytes.
  bool HasRoom(std::uint64_t bytes) const;
  std::uint64_t in_use() const;     // bytes
  std::uint64_t allocated() const;  // bytes, including those kept for reuse

 private:
  void GiveBack(HostBuffer buffer) noexcept;

  const std::uint64_t budget_;
  mutable Mutex mutex_;
  std::vector<HostBuffer> free_ GUARDED_BY(mutex_);
  std::size_t pieces_ GUARDED_BY(mutex_) = 0;  // pieces in use
  std::uint64_t free_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t used_bytes_ GUARDED_BY(mutex_) = 0;
};

struct ByteRange {
  std::size_t offset = 0;  // from the block's beginning
  std::size_t bytes = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// The byte ranges of the chosen fields, without the table. Payloads are stored field by field, so
// each field has one range; adjacent ranges are joined. Skips damaged entries: reading them will
// fail later.
std::vector<ByteRange> RangesOf(const BlockView& block, const RecordLayout& layout,
                                const Schema& schema, const FieldChoice& choice);

// A block that stays in memory while this object lives. It has memory of its own, into which
// LoaderOptions::storage = Direct reads past the page cache; or it lies in the mapping of a shard
// in an object store (RemoteBlocks), and stays there while this object holds the block's piece; or
// it was made for one row (SuppliedBlocks).
//
// One thread writes it; then any thread may read it.
class HeldBlock {
 public:
  HeldBlock() = default;
  HeldBlock(const HeldBlock&) = delete;
  HeldBlock& operator=(const HeldBlock&) = delete;

  // Gives the block memory of its own, into which the caller then reads `bytes` bytes.
  void Give(BlockMemory::Piece memory, std::size_t bytes, ShardUse shard) {
    memory_ = std::move(memory);
    bytes_ = {memory_.data(), bytes};
    shard_ = std::move(shard);
  }
  // Refers to bytes of the shard's mapping. `held` keeps them there.
  void Give(Bytes mapped, ShardParts::Held held, ShardUse shard) {
    bytes_ = mapped;
    held_ = std::move(held);
    shard_ = std::move(shard);
  }
  // A block with only one of its rows, made by a SampleSupply.
  void Give(std::vector<std::byte> made, std::uint32_t row, ShardUse shard) {
    made_ = std::move(made);
    made_row_ = row;
    bytes_ = made_;
    shard_ = std::move(shard);
  }
  // Notes that the block could not be read.
  void Fail(const Error& error, ShardUse shard) {
    fault_.emplace(error.code(), error.file(), error.place(), error.sentence());
    shard_ = std::move(shard);
  }
  // Resets the block to one that was not read. No read into it may be in flight.
  void Forget() noexcept {
    memory_ = {};
    bytes_ = {};
  }
  std::byte* data() noexcept { return memory_.data(); }
  Bytes bytes() const noexcept { return bytes_; }
  // Whether View() returns the block, or throws why the block could not be read. False if the
  // block's shard could not be opened, or if there was not enough memory: the thread that needs the
  // block then reads it.
  bool read() const noexcept { return shard_ != nullptr && (!bytes_.empty() || fault_); }
  // The shard that the block was read from, if it was read.
  const ShardUse& shard() const noexcept { return shard_; }

  // Notes that the samples' pictures are not read, because a cache has them (PictureCache).
  void LeaveOutImage() noexcept { lacks_image_ = true; }
  bool lacks_image() const noexcept { return lacks_image_; }

  // Notes a range that could not be read, relative to the block's beginning.
  void Lose(ByteRange range) { lost_.push_back(range); }
  bool Lost(Bytes range) const noexcept {
    if (held_ != nullptr) return shard_->Lost(range);
    if (lost_.empty() || range.empty()) return false;
    const auto begin = static_cast<std::size_t>(range.data() - bytes_.data());
    for (const ByteRange& lost : lost_) {
      if (begin < lost.offset + lost.bytes && lost.offset < begin + range.size()) return true;
    }
    return false;
  }

  // Verifies header and table on the first call. Throws Error.
  BlockView View(const ShardFile& shard, std::uint32_t block) const {
    if (fault_) {
      throw Error(fault_->code(), fault_->file(),
                  fault_->place().empty() ? "block " + std::to_string(block) : fault_->place(),
                  fault_->sentence());
    }
    if (!made_.empty()) return BlockView::OfOneRecord(made_, made_row_);
    const bool checked = checked_.load(std::memory_order_relaxed);
    if (!checked && Lost(bytes().first(TableBytes(shard, block)))) {
      throw shard.Unreadable("block " + std::to_string(block));
    }
    const BlockView view = shard.Block(block, bytes(), checked);
    checked_.store(true, std::memory_order_relaxed);
    return view;
  }

  // The size of a block's header and table, which say where the rest of the block lies.
  static std::size_t TableBytes(const ShardFile& shard, std::uint32_t block) noexcept {
    const BlockEntry& entry = shard.block_entry(block);
    return static_cast<std::size_t>(std::min<std::uint64_t>(
        entry.bytes, sizeof(BlockHeader) + entry.count * shard.layout().record_bytes()));
  }

 private:
  BlockMemory::Piece memory_;
  Bytes bytes_;
  ShardUse shard_;
  ShardParts::Held held_;
  std::vector<std::byte> made_;
  std::uint32_t made_row_ = 0;
  std::optional<Error> fault_;
  std::vector<ByteRange> lost_;
  bool lacks_image_ = false;
  mutable std::atomic<bool> checked_{false};
};

}  // namespace sluice
