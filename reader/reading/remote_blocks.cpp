// Start() may wait for a shard's frame and, with a full cache, for the next uses; both waits end
// when the give-up flag is set.
//
// A block that cannot be fetched keeps its error (HeldBlock::Fail()); a block whose shard cannot be
// opened stays unread. Each row of the block then reports the fault.
#include "reader/reading/remote_blocks.h"

#include <algorithm>
#include <utility>

#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"

namespace sluice {

namespace {

// Less urgent than every block that is needed now.
constexpr std::uint64_t kSuggestedUrgency = std::uint64_t{1} << 62;

Bytes BytesOf(const ShardFile& shard, std::uint32_t block) {
  const BlockEntry& entry = shard.block_entry(block);
  return shard.bytes().subspan(entry.offset, entry.bytes);
}

}  // namespace

RemoteBlocks::RemoteBlocks(const Wanted& wanted, const LoaderOptions& options)
    : RequestedBlocks(wanted, options),
      remote_(*dataset_.table.remote),
      needs_payloads_(choice_.NeedsPayloads(dataset_.facts->manifest.schema)),
      needs_others_(others_.NeedsPayloads(dataset_.facts->manifest.schema)),
      most_open_(MaxOpenBytes(dataset_, options)),
      most_ahead_(ReadAheadBytesOf(options).value_or(kMaxRemoteAhead)) {
  if (remote_.has_cache()) next_uses_.emplace(dataset_.facts->shape, options);
}

void RemoteBlocks::SetDepth(std::uint64_t bytes) noexcept {
  BlockSource::SetDepth(
      std::min(most_ahead_, std::max(bytes, remote_.store().UsefulBytesInFlight())));
}

void RemoteBlocks::BeginEpoch(std::uint64_t epoch) {
  suggested_.clear();
  suggested_bytes_ = 0;
  if (!next_uses_) return;
  next_uses_->Begin(epoch + 1);
  uses_ = nullptr;
  unscheduled_.clear();
  first_batch_ = 0;
}

bool RemoteBlocks::KnowsNextUses() {
  if (!next_uses_ || uses_ != nullptr) return true;
  uses_ = next_uses_->Find();
  if (uses_ == nullptr) return false;
  for (const Unscheduled& one : unscheduled_)
    remote_.NoteNextUse(one.shard, one.parts.whole(), NextUseOf(one.block));
  unscheduled_.clear();
  return true;
}

// To evict pieces, the cache must know when each is needed next. The first batch does not wait for
// that.
void RemoteBlocks::AwaitNextUses(const RemoteRequest& request) {
  if (KnowsNextUses() || request.urgency <= first_batch_ || !remote_.cache_is_full()) return;
  next_uses_->Await(&give_up_);
  KnowsNextUses();
}

std::uint64_t RemoteBlocks::NextUseOf(std::uint64_t block) const {
  if (!next_uses_) return RemoteShards::kUnknown;
  if (uses_ == nullptr) return 0;  // the block stays in the cache until more is known
  return uses_->empty() ? RemoteShards::kUnknown : (*uses_)[block];
}

ShardParts::Held RemoteBlocks::BeginPiece(std::uint64_t block, const SampleRef& first,
                                          const ShardParts::Block& parts, bool whole,
                                          std::uint64_t urgency) {
  if (!KnowsNextUses()) unscheduled_.push_back({block, first.shard, parts});
  return remote_.Begin(first.shard, whole ? parts.whole() : parts.table(),
                       {urgency, NextUseOf(block)});
}

bool RemoteBlocks::TakesWhole(std::uint64_t block, bool& without_image) const noexcept {
  without_image = !needs_others_ && AllKept(block);
  return needs_payloads_ && !without_image;
}

std::vector<ShardParts::Held> RemoteBlocks::FrameOf(std::uint32_t shard) {
  if (dataset_.table.OpenShard(shard) != nullptr || dataset_.table.KnownFault(shard) != nullptr)
    return {};
  return dataset_.table.BeginOpening(shard);
}

RemoteRequest RemoteBlocks::RequestFor(std::uint64_t block) {
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
  const ShardSummary& shard = dataset_.facts->shards[first.shard];
  RemoteRequest request;
  request.number = block;
  request.bytes = shard.bytes / std::max<std::uint64_t>(shard.blocks, 1);
  request.urgency = opened_ + 1;
  request.frame = FrameOf(first.shard);
  return request;
}

void RemoteBlocks::Open(std::uint64_t block, std::uint64_t rows) {
  RequestedBlocks::Open(block, rows);
  MakeRoom();
}

void RemoteBlocks::EndBatch() {
  if (first_batch_ == 0) first_batch_ = opened_;
  Begin();
}

// Usually the open blocks fit. They may not fit in random order, and if it is unknown how many rows
// a block has in the epoch (with a SampleList).
void RemoteBlocks::MakeRoom() {
  const auto any = [](const std::shared_ptr<HeldBlock>&) { return true; };
  while (open_.bytes() > most_open_ && open_.size() > 1)
    open_.CloseOldest(any);
}

void RemoteBlocks::Begin() {
  RequestedBlocks::Begin();
  if (!GivesUp()) remote_.Flush();
}

bool RemoteBlocks::Start(RemoteRequest& request) {
  const SampleRef first = dataset_.facts->shape.Record(request.number, 0);
  request.bytes = 0;
  try {
    // All frames that the batch needs have already been requested together.
    for (const ShardParts::Held& part : request.frame)
      if (!remote_.Await(part, &give_up_)) return false;
  } catch (const Error&) {
    // Opening the shard will report the same fault.
  }
  std::shared_ptr<const Error> fault;  // each of the shard's samples will report it
  request.shard = dataset_.table.Shard(first.shard, fault);
  request.frame.clear();
  if (request.shard == nullptr) return true;
  try {
    AwaitNextUses(request);
    const ShardParts::Block parts = request.shard->BlockParts(first.block);
    bool without_image = false;
    const bool whole = TakesWhole(request.number, without_image);
    if (without_image) request.held->LeaveOutImage();
    request.piece = BeginPiece(request.number, first, parts, whole, request.urgency);
    request.bytes = whole ? parts.bytes() : parts.table_bytes();
  } catch (const Error& error) {
    request.held->Fail(error, std::exchange(request.shard, nullptr));
  }
  if (const auto found = suggested_.find(request.number); found != suggested_.end()) {
    suggested_bytes_ -= found->second.bytes;
    suggested_.erase(found);
  }
  return true;
}

bool RemoteBlocks::Finish(RemoteRequest& request) {
  const std::uint32_t block = dataset_.facts->shape.Record(request.number, 0).block;
  try {
    if (!remote_.Await(request.piece, &give_up_)) return false;
    if (request.shard != nullptr) {
      request.held->Give(BytesOf(*request.shard, block), std::move(request.piece), request.shard);
      bytes_read_ += request.bytes;
    }
  } catch (const Error& error) {
    request.held->Fail(error, request.shard);
  }
  return true;
}

void RemoteBlocks::Cancel() {
  RequestedBlocks::Cancel();
  suggested_.clear();
  suggested_bytes_ = 0;
}

bool RemoteBlocks::TakesSuggestions() const noexcept {
  const bool blind = next_uses_ && uses_ == nullptr && remote_.cache_is_full();
  return !blind && begun_ == opened_ && bytes_in_flight_ < depth_bytes() &&
         suggested_bytes_ < most_ahead_ && !GivesUp();
}

void RemoteBlocks::Suggest(std::uint64_t block) {
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
  try {
    const ShardUse shard = dataset_.table.OpenShard(first.shard);
    if (shard == nullptr) {
      FrameOf(first.shard);  // so that it is there when a block of the shard is opened
    } else if (suggested_.count(block) == 0) {
      const ShardParts::Block parts = shard->BlockParts(first.block);
      bool without_image = false;
      const bool whole = TakesWhole(block, without_image);
      const std::uint64_t bytes = whole ? parts.bytes() : parts.table_bytes();
      suggested_[block] = {BeginPiece(block, first, parts, whole, kSuggestedUrgency), bytes};
      suggested_bytes_ += bytes;
    }
  } catch (const Error&) {
    return;  // a row that needs the block will fail with the reason
  }
  remote_.Flush();
}

std::shared_ptr<const HeldBlock> RemoteBlocks::Fetch(DatasetState& dataset, std::uint32_t number,
                                                     const ShardUse& shard, std::uint32_t block) {
  auto held = std::make_shared<HeldBlock>();
  ShardParts::Held piece =
      dataset.table.remote->Begin(number, shard->BlockParts(block).whole(), {});
  dataset.table.remote->Await(piece);
  held->Give(BytesOf(*shard, block), std::move(piece), shard);
  return held;
}

std::uint64_t RemoteBlocks::MaxOpenBytes(const DatasetFacts& dataset,
                                         const LoaderOptions& options) {
  const DatasetShape& shape = dataset.shape;
  if (shape.blocks() == 0) return 0;
  // Random order uses a block for one row at a time.
  if (options.order.shuffle == Shuffle::kRandom) return RemoteShards::kIdleBytes;
  const std::uint64_t blocks =
      OpenWindow::Of(shape, options).blocks + SharedTailBlocks(shape, options);
  return (std::min(blocks, shape.blocks()) + 1) * MeanBlockBytes(shape);
}

std::uint64_t RemoteBlocks::MemoryBytes(const DatasetState& dataset, const LoaderOptions& options) {
  const DatasetShape& shape = dataset.facts->shape;
  const std::uint64_t block_bytes = MeanBlockBytes(shape);
  const std::uint64_t rows = (SlotsOf(options) + 1) * options.batch_size;
  const std::uint64_t windows =
      CeilDiv(rows, std::max<std::uint64_t>(OpenWindow::Of(shape, options).samples, 1));
  const std::uint64_t open = MaxOpenBytes(dataset, options);
  const bool scattered = options.order.shuffle == Shuffle::kRandom ||
                         !options.order.samples.all() || options.order.batches;
  const std::uint64_t in_ring = scattered ? rows * block_bytes : windows * open;
  // Blocks on their way, and blocks for the next windows. Each sum may exceed its limit by a block,
  // because a block is begun as long as any room is left.
  const std::uint64_t ahead =
      2 * (ReadAheadBytesOf(options).value_or(kMaxRemoteAhead) + block_bytes);
  const std::uint64_t held = open + in_ring + ahead + SlotFillersOf(options) * block_bytes;
  // Blocks have different sizes.
  return std::min(shape.bytes(), held + CeilDiv(held, 8) + RemoteShards::kIdleBytes) +
         dataset.table.FrameBytes();
}

std::uint64_t RemoteBlocks::BookkeepingBytes(const DatasetState& dataset,
                                             const LoaderOptions& options) {
  const DatasetShape& shape = dataset.facts->shape;
  const RemoteShards& remote = *dataset.table.remote;
  const std::uint64_t bytes = remote.store().BufferBytes() + remote.BookkeepingBytes();
  if (!remote.has_cache()) return bytes;
  return bytes + NextUsesAhead::MemoryBytes(shape) +
         OrderBytes(shape, options, OpenWindow::Of(shape, options).samples);
}

}  // namespace sluice
