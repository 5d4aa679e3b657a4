// Mapped shards need no reading: a thread could simply touch their pages. But then each decoder
// thread would wait for page faults, and the kernel would decide what stays in memory. So the
// planner asks for a block's bytes soon after the order announces it (AskFor), and waits until they
// are in memory and mapped before the batch is decoded (WaitFor).
#include "reader/reading/mapped_blocks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/mman.h>

#include <sluice/error.h>

#include "reader/reading/direct/held_block.h"

namespace sluice {

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

void MappedBlocks::Open(std::uint64_t block, std::uint64_t /*rows*/) {
  queue_.push_back(block);
  ++opened_;
}

ShardUse MappedBlocks::ShardOf(const SampleRef& first) {
  std::shared_ptr<const Error> fault;  // each of the shard's samples will fail with it
  return dataset_.table.Shard(first.shard, fault);
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
  in_flight_.pop_front();
  ++finished_;
}

void MappedBlocks::Cancel() {
  queue_.clear();
  in_flight_.clear();
  bytes_in_flight_ = 0;
  begun_ = finished_ = opened_;
}

}  // namespace sluice
