#include "reader/reading/remote_blocks.h"

#include <algorithm>
#include <utility>

#include "reader/dataset/storage_choice.h"
#include "reader/reading/next_uses.h"

namespace sluice {

namespace {

// Behind every block that is needed now.
constexpr std::uint64_t kSuggestedUrgency = std::uint64_t{1} << 62;

Bytes BytesOf(const ShardFile& shard, std::uint32_t block) {
  const BlockEntry& entry = shard.block_entry(block);
  return shard.bytes().subspan(entry.offset, entry.bytes);
}

}  // namespace

RemoteBlocks::RemoteBlocks(DatasetState& dataset, const LoaderOptions& options,
                           std::uint64_t most_open, const std::atomic<bool>& give_up)
    : dataset_(dataset),
      remote_(*dataset.remote),
      options_(options),
      most_open_(most_open),
      most_ahead_(ReadAheadBytesOf(options).value_or(kMostRemoteAhead)),
      one_at_a_time_(options.order.shuffle == Shuffle::kSequential),
      give_up_(give_up) {}

void RemoteBlocks::SetDepth(std::uint64_t bytes) noexcept {
  BlockSource::SetDepth(
      std::min(most_ahead_, std::max(bytes, remote_.store().UsefulBytesInFlight())));
}

void RemoteBlocks::BeginEpoch(std::uint64_t epoch) {
  suggested_.clear();
  suggested_bytes_ = 0;
  if (!remote_.has_cache()) return;
  try {
    next_uses_ = NextUses(dataset_.shape, options_, epoch + 1, &give_up_);
  } catch (const OrderGivenUp&) {
    next_uses_.clear();  // nobody wants the epoch any more
  }
}

std::uint64_t RemoteBlocks::NextUseOf(std::uint64_t block) const noexcept {
  return next_uses_.empty() ? RemoteShards::kUnknown : next_uses_[block];
}

std::vector<ShardParts::Held> RemoteBlocks::FrameOf(std::uint32_t shard) {
  if (dataset_.OpenShard(shard) != nullptr || dataset_.KnownFault(shard) != nullptr) return {};
  return dataset_.BeginOpening(shard);
}

void RemoteBlocks::Open(std::uint64_t block, std::uint64_t rows) {
  if (one_at_a_time_) {  // a rank gets only some of a block's samples, so `rows` may be too many
    CloseAll();
    rows = 0;
  }
  OpenBlock& open = open_[block];
  if (open.held == nullptr) {
    open.held = std::make_shared<HeldBlock>();
    const SampleRef first = dataset_.shape.Row(block, 0);
    pending_.push_back({block, ++opened_, open.held, FrameOf(first.shard), {}, {}, 0});
    const ShardSummary& shard = dataset_.shards[first.shard];
    open.bytes = shard.bytes / std::max<std::uint64_t>(shard.blocks, 1);
    open_bytes_ += open.bytes;
  }
  open.rows = rows == 0 ? ~std::uint64_t{0} : rows;
  open.used = ++uses_;
  MakeRoom();
}

std::shared_ptr<const HeldBlock> RemoteBlocks::Use(std::uint64_t block) {
  auto found = open_.find(block);
  if (found == open_.end()) {
    Open(block, 0);
    found = open_.find(block);
  }
  OpenBlock& open = found->second;
  open.used = ++uses_;
  std::shared_ptr<const HeldBlock> held = open.held;
  if (--open.rows == 0) {
    open_bytes_ -= open.bytes;
    open_.erase(found);
  }
  return held;
}

void RemoteBlocks::CloseAll() {
  open_.clear();
  open_bytes_ = 0;
}

// Steady playing keeps to the window; lists whose rows are unknown, and random order, do not.
void RemoteBlocks::MakeRoom() {
  while (open_bytes_ > most_open_ && open_.size() > 1) {
    const auto oldest = std::min_element(
        open_.begin(), open_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    open_bytes_ -= oldest->second.bytes;
    open_.erase(oldest);
  }
}

void RemoteBlocks::Begin() {
  while (next_ < pending_.size() && bytes_in_flight_ < depth_bytes()) {
    if (give_up_.load(std::memory_order_relaxed) || !Start(pending_[next_])) return;
    ++next_;
    ++begun_;
  }
  remote_.Flush();
}

// False if nobody wants the block any more.
bool RemoteBlocks::Start(Pending& pending) {
  const SampleRef first = dataset_.shape.Row(pending.number, 0);
  try {
    // All frames that the batch needs have been asked for at once.
    for (const ShardParts::Held& part : pending.frame)
      if (!remote_.Await(part, &give_up_)) return false;
  } catch (const Error&) {
    // Opening the shard will say so, too.
  }
  std::shared_ptr<const Error> fault;  // each of its samples will say so
  pending.shard = dataset_.Shard(first.shard, fault);
  pending.frame.clear();
  if (pending.shard == nullptr) return true;
  try {
    const ShardParts::Part part = pending.shard->PartOf(first.block);
    pending.piece = remote_.Begin(first.shard, part, {pending.urgency, NextUseOf(pending.number)});
    pending.bytes = part.bytes;
    bytes_in_flight_ += pending.bytes;
  } catch (const Error& error) {
    pending.held->Fail(error, std::exchange(pending.shard, nullptr));
  }
  if (const auto found = suggested_.find(pending.number); found != suggested_.end()) {
    suggested_bytes_ -= found->second.bytes;
    suggested_.erase(found);
  }
  return true;
}

void RemoteBlocks::Await(std::uint64_t count) {
  while (finished_ < count && !give_up_.load(std::memory_order_relaxed)) {
    Begin();
    if (next_ > 0) FinishFront();
  }
}

void RemoteBlocks::FinishFront() {
  Pending& front = pending_.front();
  const std::uint32_t block = dataset_.shape.Row(front.number, 0).block;
  try {
    if (!remote_.Await(front.piece, &give_up_)) return;
    if (front.shard != nullptr) {
      front.held->Give(BytesOf(*front.shard, block), std::move(front.piece), front.shard);
      bytes_read_ += front.bytes;
    }
  } catch (const Error& error) {
    front.held->Fail(error, front.shard);
  }
  bytes_in_flight_ -= front.bytes;
  pending_.pop_front();
  --next_;
  ++finished_;
}

void RemoteBlocks::Cancel() {
  pending_.clear();
  next_ = 0;
  CloseAll();
  suggested_.clear();
  suggested_bytes_ = 0;
  bytes_in_flight_ = 0;
  begun_ = finished_ = opened_;
}

bool RemoteBlocks::TakesSuggestions() const noexcept {
  return begun_ == opened_ && bytes_in_flight_ < depth_bytes() && suggested_bytes_ < most_ahead_ &&
         !give_up_.load(std::memory_order_relaxed);
}

void RemoteBlocks::Suggest(std::uint64_t block) {
  const SampleRef first = dataset_.shape.Row(block, 0);
  try {
    const ShardUse shard = dataset_.OpenShard(first.shard);
    if (shard == nullptr) {
      FrameOf(first.shard);  // it will be there when a block of it is opened
    } else if (suggested_.count(block) == 0) {
      const ShardParts::Part part = shard->PartOf(first.block);
      suggested_[block] = {remote_.Begin(first.shard, part, {kSuggestedUrgency, NextUseOf(block)}),
                           part.bytes};
      suggested_bytes_ += part.bytes;
    }
  } catch (const Error&) {
    return;  // whoever needs the block will say so
  }
  remote_.Flush();
}

std::shared_ptr<const HeldBlock> RemoteBlocks::Fetch(DatasetState& dataset, std::uint32_t number,
                                                     const ShardUse& shard, std::uint32_t block) {
  auto held = std::make_shared<HeldBlock>();
  ShardParts::Held piece = dataset.remote->Begin(number, shard->PartOf(block), {});
  dataset.remote->Await(piece);
  held->Give(BytesOf(*shard, block), std::move(piece), shard);
  return held;
}

}  // namespace sluice
