#include "reader/reading/mapped_blocks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <sluice/error.h>

#include "reader/reading/field_ranges.h"

namespace sluice {

namespace {

// Linux 5.14; older headers do not name it.
constexpr int kPopulateRead = 22;
// The kernel locks the process's memory map during a whole call; short calls let other threads
// through.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;
// One call silently asks for no more than the device's read-ahead; this is the smallest usual one.
constexpr std::size_t kAskBytes = std::size_t{128} << 10;

// The beginning of the machine's page that `data` lies in. madvise() needs it, and the machine's
// pages may be larger than the format's.
const std::byte* PageOf(const std::byte* data) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return data - reinterpret_cast<std::uintptr_t>(data) % page;
}

template <class Advise>
void InSteps(Bytes block, std::size_t step_bytes, Advise advise) {
  const std::byte* const data = PageOf(block.data());
  const auto bytes = static_cast<std::size_t>(block.data() + block.size() - data);
  for (std::size_t done = 0; done < bytes; done += step_bytes)
    advise(const_cast<std::byte*>(data + done), std::min(step_bytes, bytes - done));
}

// Makes the kernel begin to read exactly these bytes. Otherwise, for a missing page it reads the
// surroundings too, up to the device's read-ahead (8 MiB have been seen): blocks that nobody needs
// yet.
void AskFor(Bytes block) {
  InSteps(block, kAskBytes,
          [](void* start, std::size_t bytes) { madvise(start, bytes, MADV_WILLNEED); });
}

void WaitFor(Bytes block) {
  static std::atomic<bool> can_populate{true};
  InSteps(block, kStepBytes, [](void* start, std::size_t bytes) {
    if (!can_populate.load(std::memory_order_relaxed)) return;
    if (madvise(start, bytes, kPopulateRead) != 0 && errno == EINVAL) {
      can_populate.store(false, std::memory_order_relaxed);
    }
  });
}

// The bytes of header and table, which say where the rest is.
std::size_t TableBytes(const RowLayout& layout, const BlockEntry& entry) {
  return std::min<std::size_t>(entry.bytes, sizeof(BlockHeader) + entry.count * layout.row_bytes());
}

// The wanted parts of a block; none if they cannot be found, and then each of its samples will
// fail.
std::vector<Bytes> WantedOf(const DatasetState& dataset, const ShardFile& shard,
                            const FieldChoice& choice, const SampleRef& first) {
  const RowLayout& layout = dataset.facts->LayoutOf(first.shard);
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

MappedBlocks::MappedBlocks(DatasetState& dataset, const FieldChoice& choice,
                           const PictureCache* store, const std::atomic<bool>& give_up,
                           std::optional<BlocksBehind> behind)
    : dataset_(dataset),
      choice_(choice),
      others_(store == nullptr ? choice : choice.WithoutImage()),
      store_(store),
      give_up_(give_up),
      behind_(std::move(behind)) {}

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
    if (give_up_.load(std::memory_order_relaxed)) return;
    // Noted first, so that the block counts as finished even if memory for the rest is lacking.
    in_flight_.push_back({queue_.front(), {}, {}});
    queue_.pop_front();
    ++begun_;
    Reading& reading = in_flight_.back();
    const SampleRef first = dataset_.facts->shape.Row(reading.block, 0);
    reading.shard = ShardOf(first);
    if (reading.shard == nullptr) continue;
    const bool kept = store_ != nullptr && store_->HasAll(dataset_.facts->shape, reading.block);
    for (const Bytes bytes : WantedOf(dataset_, *reading.shard, kept ? others_ : choice_, first)) {
      reading.parts.push_back({bytes, page_map_.HasAll(bytes)});
      cold_ = !reading.parts.back().there;
      if (cold_) AskFor(bytes);
      bytes_in_flight_ += bytes.size();
    }
  }
}

bool MappedBlocks::MayTakeSuggestions() const noexcept {
  // If only parts of a block are wanted, this thread would have to wait for its table first.
  return choice_.all_payloads;
}

bool MappedBlocks::TakesSuggestions() const noexcept {
  return cold_ && MayTakeSuggestions() && !give_up_.load(std::memory_order_relaxed);
}

void MappedBlocks::Suggest(std::uint64_t block) {
  if (store_ != nullptr && store_->HasAll(dataset_.facts->shape, block)) return;
  const SampleRef first = dataset_.facts->shape.Row(block, 0);
  const ShardUse shard = ShardOf(first);
  if (shard == nullptr) return;
  for (const Bytes bytes : WantedOf(dataset_, *shard, choice_, first))
    AskFor(bytes);
  if (behind_) behind_->Expect(block);
}

void MappedBlocks::Await(std::uint64_t count) {
  while (finished_ < count && !give_up_.load(std::memory_order_relaxed)) {
    Begin();
    if (!in_flight_.empty()) FinishFront();
  }
}

void MappedBlocks::FinishFront() {
  for (Part& part : in_flight_.front().parts) {
    const Bytes bytes = std::exchange(part.bytes, Bytes());
    if (!give_up_.load(std::memory_order_relaxed)) {
      if (!part.there) WaitFor(bytes);
      bytes_read_ += bytes.size();
    }
    bytes_in_flight_ -= bytes.size();
    // Asks for the next blocks as soon as there is room.
    Begin();
  }
  if (behind_ && !give_up_.load(std::memory_order_relaxed)) {
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

}  // namespace sluice
