#include "reader/reading/mapped_read_ahead.h"

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
// The kernel holds a lock on the process's memory for the whole of a call: short ones let others
// through.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;
// One call asks for no more than the device's read-ahead, silently; this is the usual smallest.
constexpr std::size_t kAskBytes = std::size_t{128} << 10;

// Advice is taken for whole pages of the machine's, which may be larger than the format's: the page
// that `data` lies in begins here.
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

// Has the kernel begin to read exactly these bytes. Without that a page that is missed makes it
// read what lies around, up to the device's read-ahead (8 MiB have been seen), for blocks that
// nobody needs yet.
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

// Header and table, from which the rest is found.
std::size_t TableBytes(const DatasetState& dataset, const BlockEntry& entry) {
  return std::min<std::size_t>(entry.bytes,
                               sizeof(BlockHeader) + entry.count * dataset.layout.row_bytes());
}

// The parts of a block of that shard that are wanted; none where they cannot be read: each of its
// samples will say so.
std::vector<Bytes> WantedOf(const DatasetState& dataset, const ShardFile& shard,
                            const FieldChoice& choice, std::uint32_t block) {
  const BlockEntry& entry = shard.block_entry(block);
  const Bytes bytes = shard.bytes().subspan(entry.offset, entry.bytes);
  if (choice.all_payloads) return {bytes};
  std::vector<Bytes> parts = {bytes.first(TableBytes(dataset, entry))};
  AskFor(parts[0]);
  try {
    const ReadGuard guard = shard.Guard();
    const BlockView view = shard.Block(block);
    for (const ByteRange& range : RangesOf(view, dataset.layout, dataset.manifest.schema, choice))
      parts.push_back(bytes.subspan(range.offset, range.bytes));
    return parts;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

MappedReadAhead::MappedReadAhead(DatasetState& dataset, const FieldChoice& choice,
                                 const DecodedStore* store, const std::atomic<bool>& give_up)
    : dataset_(dataset),
      choice_(choice),
      others_(store == nullptr ? choice : choice.WithoutImage()),
      store_(store),
      give_up_(give_up) {}

void MappedReadAhead::Ask(std::uint64_t block) {
  queue_.push_back(block);
  ++asked_;
}

ShardUse MappedReadAhead::ShardOf(const SampleRef& first) {
  std::shared_ptr<const Error> fault;  // each of its samples will say so
  ShardUse shard = dataset_.Shard(first.shard, fault);
  if (shard != nullptr && before_reading_) before_reading_(first.shard, *shard);
  return shard;
}

void MappedReadAhead::Begin() {
  while (!queue_.empty() && bytes_in_flight_ < depth_bytes()) {
    if (give_up_.load(std::memory_order_relaxed)) return;
    // Noted before anything else, so that it is finished even where there is no memory for the
    // rest.
    in_flight_.push_back({queue_.front(), {}, {}});
    queue_.pop_front();
    ++begun_;
    Reading& reading = in_flight_.back();
    const SampleRef first = dataset_.shape.Row(reading.block, 0);
    reading.shard = ShardOf(first);
    if (reading.shard == nullptr) continue;
    const bool kept = store_ != nullptr && store_->HasAll(dataset_.shape, reading.block);
    for (const Bytes bytes :
         WantedOf(dataset_, *reading.shard, kept ? others_ : choice_, first.block)) {
      reading.parts.push_back({bytes, page_map_.HasAll(bytes)});
      cold_ = !reading.parts.back().there;
      if (cold_) AskFor(bytes);
      bytes_in_flight_ += bytes.size();
    }
  }
}

bool MappedReadAhead::TakesSuggestions() const noexcept {
  // Where a block is wanted in part, its table has to be read first, which would take its time
  // here.
  return cold_ && choice_.all_payloads && !give_up_.load(std::memory_order_relaxed);
}

void MappedReadAhead::Suggest(std::uint64_t block) {
  if (store_ != nullptr && store_->HasAll(dataset_.shape, block)) return;
  const SampleRef first = dataset_.shape.Row(block, 0);
  const ShardUse shard = ShardOf(first);
  if (shard == nullptr) return;
  for (const Bytes bytes : WantedOf(dataset_, *shard, choice_, first.block))
    AskFor(bytes);
}

void MappedReadAhead::Await(std::uint64_t count) {
  while (finished_ < count && !give_up_.load(std::memory_order_relaxed)) {
    Begin();
    if (!in_flight_.empty()) FinishFront();
  }
}

void MappedReadAhead::FinishFront() {
  for (Part& part : in_flight_.front().parts) {
    const Bytes bytes = std::exchange(part.bytes, Bytes());
    if (!give_up_.load(std::memory_order_relaxed)) {
      if (!part.there) WaitFor(bytes);
      bytes_read_ += bytes.size();
    }
    bytes_in_flight_ -= bytes.size();
    // The next ones are asked for as soon as there is room.
    Begin();
  }
  if (when_read_ && !give_up_.load(std::memory_order_relaxed)) {
    when_read_(in_flight_.front().block);
  }
  in_flight_.pop_front();
  ++finished_;
}

void MappedReadAhead::Cancel() {
  queue_.clear();
  in_flight_.clear();
  bytes_in_flight_ = 0;
  begun_ = finished_ = asked_;
}

}  // namespace sluice
