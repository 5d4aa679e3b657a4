// Only BlockMemory is here; HeldBlock is in the header. Take() never refuses: a caller that must
// keep to the budget asks HasRoom() first. Take() prefers a free piece that fits well, and
// otherwise frees pieces until the budget has room for a new one.
//
// A piece is given back in a destructor, which must not throw. So Take() reserves a place in free_
// for every piece in use. A move assignment swaps: the old memory is given back when the other
// piece is destroyed.
#include "reader/reading/direct/held_block.h"

#include <algorithm>
#include <bit>

#include "format/disk/bytes.h"

namespace sluice {

namespace {

// Blocks differ in size by a few per cent. If sizes are rounded up, by at most an eighth, most
// blocks fit into the memory of another one.
std::uint64_t Rounded(std::uint64_t bytes) {
  const std::uint64_t step = std::max<std::uint64_t>(kPageBytes, std::bit_floor(bytes) / 8);
  return std::max<std::uint64_t>(1, (bytes + step - 1) / step) * step;
}

}  // namespace

BlockMemory::Piece& BlockMemory::Piece::operator=(Piece&& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

BlockMemory::Piece::~Piece() {
  if (home_ != nullptr) home_->GiveBack(std::move(buffer_));
}

BlockMemory::Piece BlockMemory::Take(std::uint64_t bytes) {
  const std::uint64_t wanted = Rounded(bytes);
  HostBuffer buffer;
  {
    const MutexLock lock(mutex_);
    // Takes the smallest piece that is large enough, unless more than half of it would be unused.
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->size() < wanted || it->size() / 2 > wanted) continue;
      if (best == free_.end() || it->size() < best->size()) best = it;
    }
    if (best != free_.end()) {
      buffer = std::move(*best);
      free_.erase(best);
      free_bytes_ -= buffer.size();
    } else {
      while (!free_.empty() && used_bytes_ + free_bytes_ + wanted > budget_) {
        free_bytes_ -= free_.back().size();
        free_.pop_back();
      }
    }
    if (buffer.size() == 0) buffer = HostBuffer(wanted);
    // Reserves room in free_ for the piece, because giving it back must not throw.
    free_.reserve(free_.size() + static_cast<std::size_t>(++pieces_));
    used_bytes_ += buffer.size();
  }
  return {shared_from_this(), std::move(buffer)};
}

void BlockMemory::GiveBack(HostBuffer buffer) noexcept {
  const MutexLock lock(mutex_);
  --pieces_;
  used_bytes_ -= buffer.size();
  if (used_bytes_ + free_bytes_ + buffer.size() > budget_) return;  // freed
  free_bytes_ += buffer.size();
  free_.push_back(std::move(buffer));
}

bool BlockMemory::HasRoom(std::uint64_t bytes) const {
  const MutexLock lock(mutex_);
  return used_bytes_ + Rounded(bytes) <= budget_;
}

std::uint64_t BlockMemory::in_use() const {
  const MutexLock lock(mutex_);
  return used_bytes_;
}

std::uint64_t BlockMemory::allocated() const {
  const MutexLock lock(mutex_);
  return used_bytes_ + free_bytes_;
}

}  // namespace sluice
