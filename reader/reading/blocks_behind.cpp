#include "reader/reading/blocks_behind.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sluice/error.h>

#include "reader/dataset/ring_slots.h"
#include "reader/dataset/storage_choice.h"

namespace sluice {

namespace {

// Makes the kernel map a shard in small pages, which come and go one by one. A huge page goes as a
// whole, needed parts too, and comes back as a whole when one of them is touched.
void MapInSmallPages(const ShardFile& shard) {
  madvise(const_cast<std::byte*>(shard.bytes().data()), shard.bytes().size(), MADV_NOHUGEPAGE);
}

// The whole pages of a part of a shard.
Bytes WholePagesOf(const ShardFile& shard, std::uint64_t begin, std::uint64_t end) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = std::min<std::uint64_t>(end, shard.bytes().size()) / page * page;
  return begin < end ? shard.bytes().subspan(begin, end - begin) : Bytes();
}

// Takes a part of a shard out of this process's page tables.
void Unmap(const ShardFile& shard, std::uint64_t begin, std::uint64_t end) {
  const Bytes pages = WholePagesOf(shard, begin, end);
  if (pages.empty()) return;
  madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
}

// Takes it out of the page cache.
void DropFromPageCache(const ShardFile& shard, std::uint64_t begin, std::uint64_t end) {
  const Bytes pages = WholePagesOf(shard, begin, end);
  if (pages.empty()) return;
  const FileHandle file(open(shard.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;  // the file is gone already
  posix_fadvise(file.get(), pages.data() - shard.bytes().data(), static_cast<off_t>(pages.size()),
                POSIX_FADV_DONTNEED);
}

}  // namespace

std::optional<BlocksBehind> BlocksBehind::For(DatasetState& dataset, const LoaderOptions& options) {
  if (BehindOf(options) == Behind::kKeep || options.order.shuffle == Shuffle::kRandom) return {};
  return BlocksBehind(dataset, options);
}

BlocksBehind::BlocksBehind(DatasetState& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      behind_(BehindOf(options)),
      one_at_a_time_(options.order.shuffle == Shuffle::kSequential),
      ring_(SlotsOf(options)),
      prepared_(dataset.table.keeps_all() ? dataset.facts->shards.size() : 0) {}

void BlocksBehind::PrepareShard(std::uint32_t shard, const ShardFile& file) {
  if (!prepared_.empty() && std::exchange(prepared_[shard], &file) == &file) return;
  MapInSmallPages(file);
}

void BlocksBehind::Open(std::uint64_t block, std::uint64_t rows) {
  if (one_at_a_time_) {  // a rank gets only some of a block's samples, so `rows` may be too many
    CloseAll();
    rows = 0;
  }
  expected_.erase(block);
  open_.insert_or_assign(block, rows == 0 ? ~std::uint64_t{0} : rows);
}

void BlocksBehind::Expect(std::uint64_t block) {
  if (behind_ == Behind::kDrop) expected_.insert(block);
}

void BlocksBehind::Use(std::uint64_t block) {
  const auto found = open_.find(block);
  if (found == open_.end() || --found->second > 0) return;
  open_.erase(found);
  closed_.push_back(block);
  ++waits_[block];
}

void BlocksBehind::CloseAll() {
  for (const auto& [block, rows] : open_) {
    closed_.push_back(block);
    ++waits_[block];
  }
  open_.clear();
  expected_.clear();
}

void BlocksBehind::EndBatch() {
  waiting_.push_back(std::move(closed_));
  closed_.clear();
  if (waiting_.size() <= ring_) return;
  const std::vector<std::uint64_t> over = std::move(waiting_.front());
  waiting_.pop_front();
  for (const std::uint64_t block : over) {
    const auto found = waits_.find(block);
    if (--found->second > 0) continue;  // the block was opened and closed again since
    waits_.erase(found);
    if (open_.count(block) == 0) LetGo(block);
  }
}

bool BlocksBehind::Needed(std::uint64_t block) const {
  return open_.count(block) > 0 || waits_.count(block) > 0;
}

BlocksBehind::Around BlocksBehind::AroundOf(std::uint64_t block, bool up_to_expected) const {
  // For a page fault, Linux maps the whole folio of the page cache, which has up to 2 MiB (before
  // 6.18: 64 KiB around the page).
  constexpr std::uint64_t kMostMappedAlong = std::uint64_t{2} << 20;
  const SampleRef first = dataset_.facts->shape.Row(block, 0);
  const ShardUse shard = dataset_.table.OpenShard(first.shard);
  if (shard == nullptr) return {};
  const std::uint64_t shard_block = block - first.block;  // number of the shard's first block
  const auto ends_at = [&](std::uint32_t other) {
    const std::uint64_t number = shard_block + other;
    return Needed(number) || (up_to_expected && expected_.count(number) > 0);
  };
  const BlockEntry& entry = shard->block_entry(first.block);
  Around around{shard, entry.offset, entry.offset, entry.offset + entry.bytes, 0};
  std::uint32_t lowest = first.block;
  while (lowest > 0 && around.block_begin - around.begin < kMostMappedAlong &&
         !ends_at(lowest - 1)) {
    around.begin = shard->block_entry(--lowest).offset;
  }
  if (lowest == 0) around.begin = 0;
  around.end = around.block_end;
  std::uint32_t next = first.block + 1;
  while (next < shard->blocks() && around.end - around.block_end < kMostMappedAlong &&
         !ends_at(next)) {
    const BlockEntry& behind = shard->block_entry(next++);
    around.end = behind.offset + behind.bytes;
  }
  if (next == shard->blocks()) around.end = shard->bytes().size();
  return around;
}

void BlocksBehind::Trim(std::uint64_t block) const {
  const Around around = AroundOf(block, false);
  if (around.shard == nullptr) return;
  Unmap(*around.shard, around.begin, around.block_begin);
  Unmap(*around.shard, around.block_end, around.end);
}

void BlocksBehind::LetGo(std::uint64_t block) const {
  const Around around = AroundOf(block, false);
  if (around.shard == nullptr) return;
  Unmap(*around.shard, around.begin, around.end);
  if (behind_ != Behind::kDrop || expected_.count(block) > 0) return;
  // Keeps blocks read for the next windows. It goes no further than this around the block, because
  // other processes may need what is there.
  constexpr std::uint64_t kEdge = 65536;
  const Around edges = AroundOf(block, true);
  if (edges.shard == nullptr) return;  // the shard's copy was given up meanwhile
  const std::uint64_t before = std::min(edges.block_begin - edges.begin, kEdge);
  DropFromPageCache(*edges.shard, edges.block_begin - before,
                    std::min(edges.block_end + kEdge, edges.end));
}

}  // namespace sluice
