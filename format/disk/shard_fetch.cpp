// Each step of opening relies on the step before: the frame is fetched with estimated sizes, the
// header then states its own size, the tail states where the directory begins, and the directory
// states where the sections and blocks lie. Any of these numbers may be wrong: the manifest's were
// never compared with the shard, and a header may still be damaged after Mend(). So each is cut to
// the file's length and to what the other parts leave. A checksum that fails throws nothing here:
// ShardFile checks the same bytes again and refuses them as it refuses those of a damaged file.
#include "format/disk/shard_fetch.h"

#include <algorithm>

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/disk/shard.h"

namespace sluice {

ShardFrame ShardFrame::Of(const ShardSchema& schema, const ManifestShard& entry) {
  // An upper bound: there are two sections, and an entry is small.
  constexpr std::uint64_t kSections = 4;
  ShardFrame frame;
  const std::uint64_t header = AlignUp(sizeof(ShardHeader) + schema.text.size(), kPageBytes);
  frame.start = {ShardParts::kHeader, 0, std::min(header, entry.bytes)};
  // The manifest's numbers are bounded, since they may be wrong: no shard has more blocks than
  // pages, or more samples than bytes.
  const std::uint64_t directory =
      DirectoryBytes(schema.schema, std::min(entry.blocks, entry.bytes / kPageBytes), kSections,
                     std::min(entry.samples, entry.bytes));
  const std::uint64_t end = AlignUp(directory + sizeof(ShardTail), kPageBytes) + kPageBytes;
  const std::uint64_t offset = std::max(
      frame.start.bytes, entry.bytes - std::min(end, entry.bytes) / kPageBytes * kPageBytes);
  frame.end = {ShardParts::kEnd, offset, entry.bytes - offset};
  return frame;
}

FetchedParts::FetchedParts(const ShardFile& shard, std::shared_ptr<ShardParts> parts,
                           const ShardFrame& frame)
    : shard_(shard), parts_(std::move(parts)), frame_(frame) {
  for (const ShardParts::Part& part : {frame_.start, frame_.end})
    if (part.bytes > 0) opened_.push_back(parts_->Begin({&part, 1}));
  for (const ShardParts::Held& held : opened_)
    parts_->Await(held);
}

void FetchedParts::BringHeader() {
  const Bytes file = parts_->bytes();
  if (file.size() < sizeof(ShardHeader)) return;
  // The header's own checksum comes first: without it, header_bytes and schema_bytes could be
  // anything.
  const auto header_passes = [](Bytes bytes) {
    const auto header = LoadAt<ShardHeader>(bytes, 0);
    return HasMagic(header) &&
           header.header_checksum == Hash64(bytes.first(offsetof(ShardHeader, header_checksum)));
  };
  const Bytes fixed = file.first(sizeof(ShardHeader));
  if (!header_passes(fixed)) Mend(fixed, header_passes);
  const auto header = LoadAt<ShardHeader>(file, 0);
  const std::uint64_t bytes = std::min<std::uint64_t>(header.header_bytes, kMaxHeaderBytes);
  const std::uint64_t end = std::min<std::uint64_t>(bytes, file.size());
  const std::uint64_t there = frame_.start.bytes;
  if (end > there && frame_.end.bytes > 0) {
    frame_.start.bytes = std::min(end, frame_.end.offset);
    opened_.push_back(parts_->Bring({ShardParts::kHeaderRest, there, frame_.start.bytes - there}));
  }
  if (!Inside(sizeof(ShardHeader), header.schema_bytes, frame_.start.bytes)) return;
  const Bytes text = file.subspan(sizeof(ShardHeader), header.schema_bytes);
  const auto text_passes = [&header](Bytes now) { return Hash64(now) == header.schema_checksum; };
  if (!text_passes(text)) Mend(text, text_passes);
}

void FetchedParts::BringDirectory(std::uint64_t offset) {
  // The estimate was long enough.
  if (offset >= frame_.end.offset) return;
  const std::uint64_t begin = std::max(frame_.start.bytes, offset / kPageBytes * kPageBytes);
  opened_.push_back(parts_->Bring({ShardParts::kEndRest, begin, frame_.end.offset - begin}));
  frame_.end.offset = begin;
}

void FetchedParts::BringSections() {
  const MutexLock lock(mutex_);
  if (sections_ != nullptr) return;
  // Sections lie between the last block and the directory, so the block entries say where they
  // begin.
  const BlockEntry& last = shard_.block_entry(shard_.blocks() - 1);
  const std::uint64_t begin =
      std::max(frame_.start.bytes, AlignUp(last.offset + last.bytes, kPageBytes));
  const std::uint64_t end = frame_.end.offset;
  if (begin >= end) return;
  sections_ = parts_->Bring({ShardParts::kSections, begin, end - begin});
}

void FetchedParts::BringBlock(std::uint32_t block) {
  ShardParts::Held held;
  {
    const MutexLock lock(mutex_);
    // Fetches of the next blocks begin here and are awaited by later calls, so a caller that goes
    // through the blocks in order finds most of them there.
    blocks_.resize(shard_.blocks());
    std::uint64_t ahead = 0;
    for (std::uint32_t b = block; b < shard_.blocks() && ahead <= BlockHold::kAheadBytes; ++b) {
      if (blocks_[b] == nullptr) blocks_[b] = parts_->Begin(PartsOf(b).whole());
      ahead += shard_.block_entry(b).bytes;
    }
    held = blocks_[block];
  }
  try {
    parts_->Await(held);
  } catch (...) {
    const MutexLock lock(mutex_);
    blocks_[block].reset();  // the next call tries again
    throw;
  }
}

ShardParts::Block FetchedParts::PartsOf(std::uint32_t block) const noexcept {
  // The frame may overlap the first and the last blocks; those bytes are in the mapping already.
  const BlockEntry& entry = shard_.block_entry(block);
  const std::uint64_t end = std::min(entry.offset + entry.bytes, frame_.end.offset);
  const std::uint64_t begin = std::min(std::max(entry.offset, frame_.start.bytes), end);
  const std::uint64_t table = sizeof(BlockHeader) + entry.count * shard_.layout().record_bytes();
  const std::uint64_t rest =
      std::clamp(AlignUp(entry.offset + std::min(entry.bytes, table), kPageBytes), begin, end);
  const std::uint64_t number = ShardParts::FirstPartOf(block);
  return {{{{number, begin, rest - begin}, {number + 1, rest, end - rest}}}};
}

bool FetchedParts::Mend(Bytes range, const std::function<bool(Bytes)>& passes) {
  const Bytes all = parts_->bytes();
  if (range.empty() || range.data() < all.data() ||
      range.data() + range.size() > all.data() + all.size()) {
    return false;
  }
  return parts_->Mend(static_cast<std::uint64_t>(range.data() - all.data()), range.size(), passes);
}

BlockView BlockHold::Block(std::uint32_t block, std::uint64_t ahead) {
  if (shard_.fetched() == nullptr) return shard_.Block(block);
  ShardParts& parts = shard_.fetched()->parts();
  // Blocks before this one are let go, so reading a shard from its start to its end holds a few
  // blocks and not the shard.
  held_.erase(held_.begin(), held_.lower_bound(block));
  std::uint64_t asked = 0;
  std::uint32_t next = block;
  for (; next < shard_.blocks() && (next == block || asked < ahead); ++next) {
    ShardParts::Held& held = held_[next];
    if (held == nullptr) held = parts.Begin(shard_.BlockParts(next).whole());
    if (next > block) asked += shard_.block_entry(next).bytes;
  }
  held_.erase(held_.lower_bound(next), held_.end());
  try {
    parts.Await(held_[block]);
  } catch (...) {
    held_.erase(block);
    throw;
  }
  return shard_.BlockThere(block);
}

}  // namespace sluice
