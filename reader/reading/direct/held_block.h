// A block in memory of its own. LoaderOptions::storage = Direct reads blocks into it, past the page
// cache, instead of using the shard's mapping. Or a block of a shard in an object store, which is
// there as long as this holds it.
//
// One thread writes it; then any thread may read it.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "format/disk/shard.h"
#include "reader/dataset/shard_table.h"
#include "reader/reading/direct/block_memory.h"
#include "reader/reading/field_ranges.h"

namespace sluice {

class HeldBlock {
 public:
  HeldBlock() = default;
  HeldBlock(const HeldBlock&) = delete;
  HeldBlock& operator=(const HeldBlock&) = delete;

  void Give(BlockMemory::Piece memory, std::size_t bytes, ShardUse shard) {
    memory_ = std::move(memory);
    bytes_ = {memory_.data(), bytes};
    shard_ = std::move(shard);
  }
  // Bytes of the shard's mapping, and what keeps them there.
  void Give(Bytes mapped, ShardParts::Held held, ShardUse shard) {
    bytes_ = mapped;
    held_ = std::move(held);
    shard_ = std::move(shard);
  }
  // The block cannot be had.
  void Fail(const Error& error, ShardUse shard) {
    fault_.emplace(error.code(), error.file(), error.place(), error.sentence());
    shard_ = std::move(shard);
  }
  // Makes the block one that was not read. No read into it may be in flight.
  void Forget() noexcept {
    memory_ = {};
    bytes_ = {};
  }
  std::byte* data() noexcept { return memory_.data(); }
  Bytes bytes() const noexcept { return bytes_; }
  // False if its shard could not be opened, or memory for it was lacking.
  bool read() const noexcept { return shard_ != nullptr && (!bytes_.empty() || fault_); }
  // The shard it was read from, if it was read.
  const ShardUse& shard() const noexcept { return shard_; }

  // Its samples' first images are not read, because the store has them decoded.
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

  // Verifies header and table at the first call. Throws Error.
  BlockView View(const ShardFile& shard, std::uint32_t block) const {
    if (fault_) {
      throw Error(fault_->code(), fault_->file(),
                  fault_->place().empty() ? "block " + std::to_string(block) : fault_->place(),
                  fault_->sentence());
    }
    const bool checked = checked_.load(std::memory_order_relaxed);
    if (!checked && Lost(bytes().first(TableBytes(shard, block)))) {
      throw shard.Unreadable("block " + std::to_string(block));
    }
    const BlockView view = shard.Block(block, bytes(), checked);
    checked_.store(true, std::memory_order_relaxed);
    return view;
  }

  // The bytes of header and table, which say where the rest is.
  static std::size_t TableBytes(const ShardFile& shard, std::uint32_t block) noexcept {
    const BlockEntry& entry = shard.block_entry(block);
    return static_cast<std::size_t>(std::min<std::uint64_t>(
        entry.bytes, sizeof(BlockHeader) + entry.count * shard.layout().row_bytes()));
  }

 private:
  BlockMemory::Piece memory_;
  Bytes bytes_;
  ShardUse shard_;
  ShardParts::Held held_;
  std::optional<Error> fault_;
  std::vector<ByteRange> lost_;
  bool lacks_image_ = false;
  mutable std::atomic<bool> checked_{false};
};

}  // namespace sluice
