// A block in memory of its own: what a shard's mapping is where LoaderOptions::storage = Direct
// reads past the page cache.
//
// Written by one thread; then read by any.
#pragma once

#include <atomic>
#include <vector>

#include "format/disk/shard.h"
#include "reader/dataset/recent_shards.h"
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
    bytes_ = bytes;
    shard_ = std::move(shard);
  }
  // As if its shard could not be opened. Nothing is being read into it.
  void Forget() noexcept {
    memory_ = {};
    bytes_ = 0;
  }
  std::byte* data() noexcept { return memory_.data(); }
  Bytes bytes() const noexcept { return {memory_.data(), bytes_}; }
  // False where its shard could not be opened, or there was no memory to read it.
  bool read() const noexcept { return bytes_ > 0; }
  // What it was read from, if it was.
  const ShardUse& shard() const noexcept { return shard_; }

  // Its samples' first images are not read: they are kept decoded.
  void LeaveOutImage() noexcept { lacks_image_ = true; }
  bool lacks_image() const noexcept { return lacks_image_; }

  // What could not be read, from the block's beginning.
  void Lose(ByteRange range) { lost_.push_back(range); }
  bool Lost(Bytes range) const noexcept {
    if (lost_.empty() || range.empty()) return false;
    const auto begin = static_cast<std::size_t>(range.data() - memory_.data());
    for (const ByteRange& lost : lost_) {
      if (begin < lost.offset + lost.bytes && lost.offset < begin + range.size()) return true;
    }
    return false;
  }

  // Header and table are verified when they are first asked for. Throws Error.
  BlockView View(const ShardFile& shard, std::uint32_t block) const {
    const bool checked = checked_.load(std::memory_order_relaxed);
    if (!checked && Lost(bytes().first(TableBytes(shard, block)))) {
      throw shard.Unreadable("block " + std::to_string(block));
    }
    const BlockView view = shard.Block(block, bytes(), checked);
    checked_.store(true, std::memory_order_relaxed);
    return view;
  }

  // Header and table, from which the rest is found.
  static std::size_t TableBytes(const ShardFile& shard, std::uint32_t block) noexcept {
    const BlockEntry& entry = shard.block_entry(block);
    return static_cast<std::size_t>(std::min<std::uint64_t>(
        entry.bytes, sizeof(BlockHeader) + entry.count * shard.layout().row_bytes()));
  }

 private:
  BlockMemory::Piece memory_;
  std::size_t bytes_ = 0;
  ShardUse shard_;
  std::vector<ByteRange> lost_;
  bool lacks_image_ = false;
  mutable std::atomic<bool> checked_{false};
};

}  // namespace sluice
