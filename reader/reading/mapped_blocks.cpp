// Mapped shards need no reading: a thread could simply touch their pages. But then each decoder
// thread would wait for page faults, and the kernel would decide what stays in memory. So the
// planner asks for a block's bytes soon after the order announces it (AskFor), and waits until they
// are in memory and mapped before the batch is decoded (WaitFor). Once a block is played, it is
// unmapped and, if the user wants that, dropped from the page cache (BlocksBehind).
#include "reader/reading/mapped_blocks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sluice/error.h>

#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

namespace {

// Makes the kernel map a shard in small pages, which can be released one by one. A huge page is
// released as a whole, needed parts included, and comes back as a whole when any part is touched.
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

// Removes a part of a shard from this process's page tables.
void Unmap(const ShardFile& shard, std::uint64_t begin, std::uint64_t end) {
  const Bytes pages = WholePagesOf(shard, begin, end);
  if (pages.empty()) return;
  madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
}

// Removes a part of a shard from the page cache.
void DropFromPageCache(const ShardFile& shard, std::uint64_t begin, std::uint64_t end) {
  const Bytes pages = WholePagesOf(shard, begin, end);
  if (pages.empty()) return;
  const FileHandle file(open(shard.name().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;  // the file has been deleted
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
    if (--found->second > 0) continue;  // the block was opened and closed again meanwhile
    waits_.erase(found);
    if (open_.count(block) == 0) Release(block);
  }
}

bool BlocksBehind::Needed(std::uint64_t block) const {
  return open_.count(block) > 0 || waits_.count(block) > 0;
}

BlocksBehind::Around BlocksBehind::AroundOf(std::uint64_t block, bool up_to_expected) const {
  // On a page fault, Linux maps the whole folio of the page cache, which has up to 2 MiB (before
  // 6.18: 64 KiB around the page).
  constexpr std::uint64_t kMaxMappedAlong = std::uint64_t{2} << 20;
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
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
  while (lowest > 0 && around.block_begin - around.begin < kMaxMappedAlong &&
         !ends_at(lowest - 1)) {
    around.begin = shard->block_entry(--lowest).offset;
  }
  if (lowest == 0) around.begin = 0;
  around.end = around.block_end;
  std::uint32_t next = first.block + 1;
  while (next < shard->blocks() && around.end - around.block_end < kMaxMappedAlong &&
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

void BlocksBehind::Release(std::uint64_t block) const {
  const Around around = AroundOf(block, false);
  if (around.shard == nullptr) return;
  Unmap(*around.shard, around.begin, around.end);
  if (behind_ != Behind::kDrop || expected_.count(block) > 0) return;
  // Keeps blocks that were read ahead for the next windows. Besides the block itself, drops at most
  // kEdge bytes on each side, because other processes may need the bytes around it.
  constexpr std::uint64_t kEdge = 65536;
  const Around edges = AroundOf(block, true);
  if (edges.shard == nullptr) return;  // the shard's copy was dropped meanwhile
  const std::uint64_t before = std::min(edges.block_begin - edges.begin, kEdge);
  DropFromPageCache(*edges.shard, edges.block_begin - before,
                    std::min(edges.block_end + kEdge, edges.end));
}

namespace {

// MADV_POPULATE_READ (Linux 5.14), which older headers lack.
constexpr int kPopulateRead = 22;
// The kernel locks the process's memory map during a whole call; short calls let other threads
// through.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

void WaitFor(Bytes block) {
  static std::atomic<bool> can_populate{true};
  AdviseInSteps(block, kStepBytes, [](void* start, std::size_t bytes) {
    if (!can_populate.load(std::memory_order_relaxed)) return;
    if (madvise(start, bytes, kPopulateRead) != 0 && errno == EINVAL) {
      can_populate.store(false, std::memory_order_relaxed);
    }
  });
}

// The size of a block's header and table, which say where the rest of the block lies.
std::size_t TableBytes(const RecordLayout& layout, const BlockEntry& entry) {
  return std::min<std::size_t>(entry.bytes,
                               sizeof(BlockHeader) + entry.count * layout.record_bytes());
}

// The wanted parts of a block. Empty if they cannot be located; then each of the block's samples
// will fail.
std::vector<Bytes> WantedOf(const DatasetState& dataset, const ShardFile& shard,
                            const FieldChoice& choice, const SampleRef& first) {
  const RecordLayout& layout = dataset.facts->LayoutOf(first.shard);
  const BlockEntry& entry = shard.block_entry(first.block);
  const Bytes bytes = shard.bytes().subspan(entry.offset, entry.bytes);
  if (choice.all_payloads) return {bytes};
  std::vector<Bytes> parts = {bytes.first(TableBytes(layout, entry))};
  AskFor(parts[0]);
  try {
    const ReadGuard guard = shard.Guard();
    const BlockView view = shard.Block(first.block);
    for (const ByteRange& range : RangesOf(view, layout, dataset.facts->manifest.schema, choice))
      parts.push_back(bytes.subspan(range.offset, range.bytes));
    return parts;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void MappedBlocks::Open(std::uint64_t block, std::uint64_t rows) {
  queue_.push_back(block);
  ++opened_;
  if (behind_) behind_->Open(block, rows);
}

std::shared_ptr<const HeldBlock> MappedBlocks::Use(std::uint64_t block) {
  if (behind_) behind_->Use(block);
  return nullptr;
}

void MappedBlocks::EndBatch() {
  Begin();
  if (behind_) behind_->EndBatch();
}

void MappedBlocks::CloseAll() {
  if (behind_) behind_->CloseAll();
}

ShardUse MappedBlocks::ShardOf(const SampleRef& first) {
  std::shared_ptr<const Error> fault;  // each of the shard's samples will fail with it
  ShardUse shard = dataset_.table.Shard(first.shard, fault);
  if (shard != nullptr && behind_) behind_->PrepareShard(first.shard, *shard);
  return shard;
}

void MappedBlocks::Begin() {
  while (!queue_.empty() && bytes_in_flight_ < depth_bytes()) {
    if (GivesUp()) return;
    // The entry is added first, so that the block counts as finished even if memory for the rest is
    // lacking.
    in_flight_.push_back({queue_.front(), {}, {}});
    queue_.pop_front();
    ++begun_;
    Reading& reading = in_flight_.back();
    const SampleRef first = dataset_.facts->shape.Record(reading.block, 0);
    reading.shard = ShardOf(first);
    if (reading.shard == nullptr) continue;
    const FieldChoice& choice = AllKept(reading.block) ? others_ : choice_;
    for (const Bytes bytes : WantedOf(dataset_, *reading.shard, choice, first)) {
      reading.parts.push_back({bytes, page_map_.HasAll(bytes)});
      cold_ = !reading.parts.back().there;
      if (cold_) AskFor(bytes);
      bytes_in_flight_ += bytes.size();
    }
  }
}

bool MappedBlocks::MayTakeSuggestions() const noexcept {
  // If only parts of a block were wanted, this thread would have to wait for the block's table
  // first.
  return choice_.all_payloads;
}

bool MappedBlocks::TakesSuggestions() const noexcept {
  return cold_ && MayTakeSuggestions() && !GivesUp();
}

void MappedBlocks::Suggest(std::uint64_t block) {
  if (AllKept(block)) return;
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
  const ShardUse shard = ShardOf(first);
  if (shard == nullptr) return;
  for (const Bytes bytes : WantedOf(dataset_, *shard, choice_, first))
    AskFor(bytes);
  if (behind_) behind_->Expect(block);
}

void MappedBlocks::AwaitSome() {
  Begin();
  if (!in_flight_.empty()) FinishFront();
}

void MappedBlocks::FinishFront() {
  for (Part& part : in_flight_.front().parts) {
    const Bytes bytes = std::exchange(part.bytes, Bytes());
    if (!GivesUp()) {
      if (!part.there) WaitFor(bytes);
      bytes_read_ += bytes.size();
    }
    bytes_in_flight_ -= bytes.size();
    // Begins the next blocks as soon as there is room.
    Begin();
  }
  if (behind_ && !GivesUp()) {
    behind_->Trim(in_flight_.front().block);
  }
  in_flight_.pop_front();
  ++finished_;
}

void MappedBlocks::Cancel() {
  queue_.clear();
  in_flight_.clear();
  bytes_in_flight_ = 0;
  begun_ = finished_ = opened_;
  if (behind_) behind_->CloseAll();
}

std::uint64_t MappedBlocks::MappedBytes(const DatasetFacts& dataset, const LoaderOptions& options) {
  const DatasetShape& shape = dataset.shape;
  if (BehindOf(options) == Behind::kKeep || options.order.shuffle == Shuffle::kRandom)
    return shape.bytes();
  // Blocks that were closed by the batches in the ring, or by the batch being planned, are not
  // released yet.
  const std::uint64_t tail = SharedTailBlocks(shape, options) * MeanBlockBytes(shape);
  return std::min(shape.bytes(), RingWindowBytes(shape, options) + tail);
}

}  // namespace sluice
