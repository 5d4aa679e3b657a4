// A shard comes from one of four places: a mixture's part, which opens it in its own table
// (OpenInPart()); a supply of samples; an object store; or a folder (Open(), which asks in this
// order).
//
// If all shards stay mapped, opening takes a mutex, so that each shard is opened once, and open_
// then gives plain pointers without a lock. Otherwise opening takes no lock: two threads may open a
// shard at the same time, and RecentShards keeps the later mapping. It removes a shard under its
// mutex, but unmaps the shard after that. Only Shard() with `fault` remembers faults.
#include "reader/dataset/shard_table.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <fcntl.h>

#include "format/ascii.h"
#include "format/disk/sample_supply.h"
#include "format/disk/system_error.h"
#include "reader/dataset/dataset_state.h"
#include "reader/order/shape.h"

namespace sluice {

ShardUse RecentShards::Find(std::uint32_t shard) {
  const MutexLock lock(mutex_);
  const auto found = at_.find(shard);
  if (found == at_.end()) return {};
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->second;
}

void RecentShards::Keep(std::uint32_t shard, ShardUse file) {
  Shards gone;  // unmapped after the mutex is released
  const MutexLock lock(mutex_);
  const auto found = at_.find(shard);
  if (found != at_.end()) {
    gone.splice(gone.begin(), by_use_, found->second);
    at_.erase(found);
  }
  by_use_.emplace_front(shard, std::move(file));
  at_.emplace(shard, by_use_.begin());
  // A shard in use cannot be dropped; it moves to the front, and the next one is tried. After
  // kTries, the list may stay longer than max_.
  constexpr std::size_t kTries = 8;
  Evict(max_, kTries, gone);
}

void RecentShards::DropHalf() {
  Shards gone;
  const MutexLock lock(mutex_);
  Evict(by_use_.size() / 2, by_use_.size(), gone);
}

void RecentShards::Evict(std::size_t max, std::size_t tries, Shards& gone) {
  for (; tries > 0 && by_use_.size() > max; --tries) {
    const auto last = std::prev(by_use_.end());
    // Nobody can start to use it meanwhile: uses are copied from this list, under the mutex.
    if (last->second.use_count() > 1) {
      by_use_.splice(by_use_.begin(), by_use_, last);
      continue;
    }
    at_.erase(last->first);
    gone.splice(gone.begin(), by_use_, last);
  }
}

std::size_t MaxMappedShards() {
  constexpr std::size_t kMax = 16'384;
  if (const char* const text = std::getenv("SLUICE_MAX_MAPPED_SHARDS")) {
    if (const auto max = ParseNumber<std::size_t>(text); max && *max > 0) return *max;
  }
  std::size_t mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  return mappings == 0 ? kMax : std::clamp<std::size_t>(mappings / 4, 1, kMax);
}

namespace {

std::shared_ptr<RemoteShards> OpenRemote(const std::shared_ptr<ObjectStore>& store,
                                         const DatasetFacts& facts,
                                         const std::optional<BlockCache>& cache) {
  return store == nullptr ? nullptr : RemoteShards::Open(store, facts.manifest, cache);
}

}  // namespace

ShardTable::ShardTable(const DatasetFacts& facts, const Options& options)
    : remote(
          OpenRemote(options.store != nullptr ? options.store : facts.store, facts, options.cache)),
      facts_(facts),
      advice_(options.advice),
      max_mapped_(options.max_mapped),
      schema_(std::make_shared<const ShardSchema>(facts.stored)),
      recent_(facts.shards.size() > max_mapped_ ? std::make_unique<RecentShards>(max_mapped_)
                                                : nullptr),
      kept_(keeps_all() ? facts.shards.size() : 0),
      open_(kept_.size()) {}

std::unique_ptr<ShardFile> ShardTable::Open(std::uint32_t shard) const {
  const auto open = [&] {
    if (facts_.supply != nullptr) {
      ShardExpectation expect = ShardExpectation::Of(facts_.manifest.shards[shard]);
      expect.bytes.reset();  // a supply's frame has no payloads, and a digest of its own
      expect.digest.reset();
      return std::make_unique<ShardFile>(facts_.supply->Frame(shard), facts_.place.string(),
                                         schema_, expect);
    }
    if (remote != nullptr) {
      return std::make_unique<ShardFile>(remote->PartsOf(shard), schema_,
                                         facts_.manifest.shards[shard]);
    }
    const ShardExpectation expect = ShardExpectation::Of(facts_.manifest.shards[shard]);
    const std::filesystem::path path = PlaceOf(shard);
    return std::make_unique<ShardFile>(MappedFile(OpenForReading(path), path, advice_),
                                       path.string(), schema_, expect);
  };
  if (keeps_all()) return open();
  try {
    return open();
  } catch (const SystemError& error) {
    if (error.number() != ENOMEM) throw;
  }
  recent_->DropHalf();
  return open();
}

std::filesystem::path ShardTable::PlaceOf(std::uint32_t shard) const {
  return facts_.place / facts_.manifest.shards[shard].file;
}

ShardUse ShardTable::Shard(std::uint32_t shard) {
  if (ShardUse open = OpenShard(shard)) return open;
  return OpenNow(shard);
}

ShardUse ShardTable::Shard(std::uint32_t shard, std::shared_ptr<const Error>& fault) {
  if (ShardUse open = OpenShard(shard)) return open;
  fault = KnownFault(shard);
  if (fault != nullptr) return {};
  try {
    return OpenNow(shard);
  } catch (const Error& error) {
    fault = Remember(shard, error);
    return {};
  }
}

std::vector<ShardParts::Held> ShardTable::BeginOpening(std::uint32_t shard) const {
  const ShardFrame frame = ShardFrame::Of(*schema_, facts_.manifest.shards[shard]);
  return {remote->Begin(shard, {&frame.start, 1}, {}), remote->Begin(shard, {&frame.end, 1}, {})};
}

void ShardTable::AskForFrame(std::uint32_t shard) const noexcept {
  if (remote != nullptr || facts_.supply != nullptr || OpenShard(shard) != nullptr) return;
  if (!facts_.parts.empty()) {
    const MixedDataset& part = facts_.PartWith(shard);
    return part.dataset->table.AskForFrame(shard - part.first_shard);
  }
  try {
    const ShardFrame frame = ShardFrame::Of(*schema_, facts_.manifest.shards[shard]);
    const FileHandle file = OpenForReading(PlaceOf(shard));
    for (const ShardParts::Part& part : {frame.start, frame.end})
      posix_fadvise(file.get(), static_cast<off_t>(part.offset), static_cast<off_t>(part.bytes),
                    POSIX_FADV_WILLNEED);
  } catch (const std::exception&) {
    return;  // opening the shard will report it
  }
}

std::uint64_t ShardTable::MemoryBytes() const noexcept {
  const std::uint64_t blocks = facts_.shape.blocks();
  const std::uint64_t all = std::max<std::uint64_t>(facts_.shards.size(), 1);
  const std::uint64_t mapped = std::min<std::uint64_t>(all, max_mapped_);
  return 512 * all + 4096 * mapped + CeilDiv(40 * blocks, all) * mapped + blocks / 8;
}

std::uint64_t ShardTable::FrameBytes() const noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t max = 0;
  for (const ManifestShard& shard : facts_.manifest.shards) {
    const ShardFrame frame = ShardFrame::Of(*schema_, shard);
    bytes += frame.start.bytes + frame.end.bytes;
    max = std::max(max, frame.start.bytes + frame.end.bytes);
  }
  return std::min(bytes, max * max_mapped_);
}

ShardParts::Held ShardTable::HoldBlock(std::uint32_t shard, const ShardFile& file,
                                       std::uint32_t block) {
  constexpr std::uint64_t kAhead = RemoteShards::kIdleBytes / 4;
  ShardParts::Held held = remote->Begin(shard, file.BlockParts(block).whole(), {});
  const std::uint64_t number = facts_.shape.first_block(shard) + block;
  const std::uint64_t before = last_held_.exchange(number, std::memory_order_relaxed);
  if (number == before + 1) {
    // Nobody holds the blocks that are fetched ahead; they stay in memory for a while.
    std::uint64_t ahead = 0;
    std::uint32_t next = block + 1;
    for (; next < file.blocks() && ahead < kAhead; ++next) {
      remote->Begin(shard, file.BlockParts(next).whole(), {});
      ahead += file.block_entry(next).bytes;
    }
    if (next == file.blocks() && shard + 1 < facts_.shards.size()) BeginOpening(shard + 1);
  }
  remote->Await(held);
  return held;
}

ShardUse ShardTable::OpenInPart(std::uint32_t shard) {
  const MixedDataset& part = facts_.PartWith(shard);
  ShardUse use = part.dataset->table.Shard(shard - part.first_shard);
  if (keeps_all()) {
    open_[shard].store(use.get(), std::memory_order_release);
  } else {
    recent_->Keep(shard, use);
  }
  return use;
}

ShardUse ShardTable::OpenNow(std::uint32_t shard) {
  if (!facts_.parts.empty()) return OpenInPart(shard);
  // The frame is fetched before the mutex is locked, so that several threads can wait for several
  // shards.
  std::vector<ShardParts::Held> frame;
  if (remote != nullptr) frame = BeginOpening(shard);
  for (const ShardParts::Held& held : frame)
    remote->Await(held);
  if (keeps_all()) {
    const MutexLock lock(open_mutex_);
    if (ShardUse open = OpenShard(shard)) return open;
    kept_[shard] = Open(shard);
    open_[shard].store(kept_[shard].get(), std::memory_order_release);
    return Uncounted(kept_[shard].get());
  }
  // No lock is held here, so threads open shards at the same time, and a shard may be opened twice.
  ShardUse opened = Open(shard);
  recent_->Keep(shard, opened);
  return opened;
}

std::shared_ptr<const Error> ShardTable::KnownFault(std::uint32_t shard) {
  if (!any_fault_.load(std::memory_order_acquire)) return nullptr;
  const MutexLock lock(fault_mutex_);
  const auto found = faults_.find(shard);
  return found == faults_.end() ? nullptr : found->second;
}

std::shared_ptr<const Error> ShardTable::Remember(std::uint32_t shard, const Error& error) {
  auto fault = std::make_shared<const Error>(error);
  // If this process lacks memory or mappings, the shard itself may be sound.
  if (IsShortage(error)) return fault;
  const MutexLock lock(fault_mutex_);
  faults_.insert_or_assign(shard, fault);
  any_fault_.store(true, std::memory_order_release);
  return fault;
}

void ShardTable::ForgetFaults() {
  if (!any_fault_.load(std::memory_order_acquire)) return;
  const MutexLock lock(fault_mutex_);
  faults_.clear();
  any_fault_.store(false, std::memory_order_release);
}

}  // namespace sluice
