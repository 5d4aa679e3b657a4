// A shard whose parts are brought when they are needed, from an object store.
#include <algorithm>

#include "format/disk/limits.h"
#include "format/disk/shard.h"

namespace sluice {

// If the header is longer than expected, its schema has not come yet.
void ShardFile::BringHeaderRest() {
  if (parts_ == nullptr || file_.bytes().size() < sizeof(ShardHeader)) return;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(LoadAt<ShardHeader>(file_.bytes(), 0).header_bytes, kMaxHeaderBytes);
  const std::uint64_t end = std::min<std::uint64_t>(bytes, file_.bytes().size());
  const std::uint64_t there = frame_.start.bytes;
  if (end <= there || frame_.end.bytes == 0) return;
  frame_.start.bytes = std::min(end, frame_.end.offset);
  opened_.push_back(parts_->Bring({ShardParts::kHeaderRest, there, frame_.start.bytes - there}));
}

// If the directory is longer than expected, its beginning has not come yet.
void ShardFile::BringEndRest() {
  if (parts_ == nullptr || tail_.directory_offset >= frame_.end.offset) return;
  const std::uint64_t offset =
      std::max(frame_.start.bytes, tail_.directory_offset / kPageBytes * kPageBytes);
  opened_.push_back(parts_->Bring({ShardParts::kEndRest, offset, frame_.end.offset - offset}));
  frame_.end.offset = offset;
}

ShardParts::Block ShardFile::PartsOf(std::uint32_t block) const noexcept {
  const BlockEntry& entry = blocks_[block];
  const std::uint64_t end = std::min(entry.offset + entry.bytes, frame_.end.offset);
  const std::uint64_t begin = std::min(std::max(entry.offset, frame_.start.bytes), end);
  const std::uint64_t table = sizeof(BlockHeader) + entry.count * layout().row_bytes();
  const std::uint64_t rest =
      std::clamp(AlignUp(entry.offset + std::min(entry.bytes, table), kPageBytes), begin, end);
  const std::uint64_t number = ShardParts::PartsOf(block);
  return {{{{number, begin, rest - begin}, {number + 1, rest, end - rest}}}};
}

void ShardFile::BringSections() const {
  if (parts_ == nullptr) return;
  const MutexLock lock(brought_->mutex);
  if (brought_->sections != nullptr) return;
  const BlockEntry& last = blocks_.back();
  const std::uint64_t begin =
      std::max(frame_.start.bytes, AlignUp(last.offset + last.bytes, kPageBytes));
  const std::uint64_t end = frame_.end.offset;
  if (begin >= end) return;
  brought_->sections = parts_->Bring({ShardParts::kSections, begin, end - begin});
}

void ShardFile::BringBlock(std::uint32_t block) const {
  constexpr std::uint64_t kAhead = std::uint64_t{16} << 20;
  ShardParts::Held held;
  {
    const MutexLock lock(brought_->mutex);
    std::uint64_t ahead = 0;
    for (std::uint32_t b = block; b < blocks() && ahead <= kAhead; ++b) {
      if (brought_->blocks[b] == nullptr) brought_->blocks[b] = parts_->Begin(PartsOf(b).whole());
      ahead += blocks_[b].bytes;
    }
    held = brought_->blocks[block];
  }
  try {
    parts_->Await(held);
  } catch (...) {
    const MutexLock lock(brought_->mutex);
    brought_->blocks[block].reset();  // the next call tries again
    throw;
  }
}

BlockView BlockHold::Block(std::uint32_t block, std::uint64_t ahead) {
  const std::shared_ptr<ShardParts>& parts = shard_.parts();
  if (parts == nullptr) return shard_.Block(block);
  held_.erase(held_.begin(), held_.lower_bound(block));
  std::uint64_t asked = 0;
  std::uint32_t next = block;
  for (; next < shard_.blocks() && (next == block || asked < ahead); ++next) {
    ShardParts::Held& held = held_[next];
    if (held == nullptr) held = parts->Begin(shard_.PartsOf(next).whole());
    if (next > block) asked += shard_.block_entry(next).bytes;
  }
  held_.erase(held_.lower_bound(next), held_.end());
  try {
    parts->Await(held_[block]);
  } catch (...) {
    held_.erase(block);
    throw;
  }
  return shard_.BlockThere(block);
}

}  // namespace sluice
