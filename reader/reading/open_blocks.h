// The blocks that an epoch's order has announced, and whose rows are not all planned yet.
// DirectBlocks and RemoteBlocks hold them for those rows.
//
// Used by the planner thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "reader/reading/direct/held_block.h"

namespace sluice {

class OpenBlocks {
 public:
  // `one_at_a_time`: rows come in the order of blocks (Shuffle::kSequential).
  explicit OpenBlocks(bool one_at_a_time) noexcept : one_at_a_time_(one_at_a_time) {}

  struct Block {
    std::shared_ptr<HeldBlock> held;
    std::uint64_t bytes = 0;
    std::uint64_t rows = 0;  // rows not planned yet
    std::uint64_t used = 0;  // the value of uses_ when the block was opened or used last
  };
  // Opens a block for its next `rows` rows; 0: unknown. If the block is not open, calls `ask()`,
  // which requests it and returns it, with its size if the caller is going to ask for bytes().
  template <class Ask>
  void Open(std::uint64_t number, std::uint64_t rows, const Ask& ask) {
    if (one_at_a_time_) {  // a rank gets only some of a block's samples, so `rows` may be too many
      Clear();
      rows = 0;
    }
    auto found = blocks_.find(number);
    if (found == blocks_.end()) {
      found = blocks_.emplace(number, ask()).first;
      bytes_ += found->second.bytes;
    }
    found->second.rows = rows == 0 ? ~std::uint64_t{0} : rows;
    found->second.used = ++uses_;
  }

  // Notes that the next row is in that block. Returns the block; null if it is not open.
  std::shared_ptr<const HeldBlock> Use(std::uint64_t number) {
    const auto found = blocks_.find(number);
    if (found == blocks_.end()) return nullptr;
    found->second.used = ++uses_;
    std::shared_ptr<const HeldBlock> held = found->second.held;
    if (--found->second.rows == 0) Close(found);
    return held;
  }

  // Closes the least recently used block for which `may_go(held)` is true. Returns false if there
  // is no such block.
  template <class MayGo>
  bool CloseOldest(const MayGo& may_go) {
    auto oldest = blocks_.end();
    for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
      if (oldest != blocks_.end() && at->second.used > oldest->second.used) continue;
      if (may_go(at->second.held)) oldest = at;
    }
    if (oldest == blocks_.end()) return false;
    Close(oldest);
    return true;
  }

  void Clear() noexcept {
    blocks_.clear();
    bytes_ = 0;
  }
  std::size_t size() const noexcept { return blocks_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void Close(std::unordered_map<std::uint64_t, Block>::iterator block) {
    bytes_ -= block->second.bytes;
    blocks_.erase(block);
  }

  const bool one_at_a_time_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::uint64_t bytes_ = 0;
  std::uint64_t uses_ = 0;  // calls of Open() and Use()
};

}  // namespace sluice
