// Page-aligned memory for blocks that are read past the page cache, reused from block to block.
//
// Thread-safe. Memory given back is kept for the next block, unless that would exceed the budget;
// then it is returned to the system.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/mutex.h"
#include "reader/reading/host_buffer.h"

namespace sluice {

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

  // A piece of at least that many bytes, even beyond the budget: the caller keeps to it. Throws
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
  std::size_t pieces_ GUARDED_BY(mutex_) = 0;  // in use
  std::uint64_t free_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t used_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
