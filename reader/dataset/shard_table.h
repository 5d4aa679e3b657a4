// The shards of a dataset that are mapped, or fetched from an object store.
//
// With at most MaxMappedShards() shards, a shard stays mapped once it has been used, and is found
// without a lock. With more, those used last stay mapped (RecentShards). A shard that could not be
// opened is tried again once an epoch, not for each of its samples and blocks. The shards of a
// mixture are opened in the tables of its parts.
//
// A shard's frame is the bytes that opening it reads: its first and last pages, with header and
// directory (ShardFrame in format/disk/shard_fetch.h).
#pragma once

#include <atomic>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "format/disk/shard.h"
#include "format/mutex.h"
#include "format/remote/cache/remote_shards.h"
#include "reader/dataset/dataset_facts.h"

namespace sluice {

// Keeps a shard mapped while it lives. If the dataset keeps all of its shards mapped, this counts
// nothing and costs no more than a pointer.
using ShardUse = std::shared_ptr<const ShardFile>;

// The mapped shards of a dataset with more shards than a process may have mappings: those used
// last, and all that are in use. Thread-safe.
class RecentShards {
 public:
  // `max` shards stay mapped; more only while more are in use.
  explicit RecentShards(std::size_t max) : max_(max) {}

  // Returns the shard, which becomes the most recently used; null if it is not mapped.
  ShardUse Find(std::uint32_t shard);
  // Keeps an opened shard, in place of an earlier mapping of it.
  void Keep(std::uint32_t shard, ShardUse file);
  // Drops shards that nobody uses until half of all are left: for when the system has no mappings
  // left.
  void DropHalf();

 private:
  using Shards = std::list<std::pair<std::uint32_t, ShardUse>>;
  // Moves unused shards to `gone` until at most `max` are left. Looks at `tries` shards at most.
  void Evict(std::size_t max, std::size_t tries, Shards& gone) REQUIRES(mutex_);

  const std::size_t max_;
  Mutex mutex_;
  Shards by_use_ GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::uint32_t, Shards::iterator> at_ GUARDED_BY(mutex_);
};

// How many shards of a dataset stay mapped: the number in the environment variable
// SLUICE_MAX_MAPPED_SHARDS, if it is set. Otherwise 16,384, but at most a quarter of the mappings
// that the system allows a process (vm.max_map_count), because other datasets and code need some.
std::size_t MaxMappedShards();

class ShardTable {
 public:
  struct Options {
    std::size_t max_mapped = MaxMappedShards();
    MapAdvice advice = MapAdvice::kNormal;
    // Where the shards are read from instead of the dataset's own place (LoaderOptions::stage).
    std::shared_ptr<ObjectStore> store = {};
    std::optional<BlockCache> cache = {};  // only if the shards are read from a store
  };
  // `facts` must outlive the table.
  ShardTable(const DatasetFacts& facts, const Options& options);

  // Whether all shards stay mapped: then a pointer to one is valid as long as the table lives.
  bool keeps_all() const noexcept { return recent_ == nullptr; }
  std::size_t max_mapped() const noexcept { return max_mapped_; }
  // Returns the shard, and maps it if needed. Throws Error. Thread-safe.
  ShardUse Shard(std::uint32_t shard);
  // Does the same as Shard(shard), but if the shard cannot be opened, returns null and sets
  // `fault`. Remembers the fault, so that a loader tries to open the shard once, not for each of
  // its samples.
  ShardUse Shard(std::uint32_t shard, std::shared_ptr<const Error>& fault);
  // The shard if it is mapped already, else null.
  ShardUse OpenShard(std::uint32_t shard) const {
    if (!keeps_all()) return recent_->Find(shard);
    // Pairs with the release in OpenNow(): a thread that sees the pointer sees the whole shard.
    return Uncounted(open_[shard].load(std::memory_order_acquire));
  }
  // Requires keeps_all(). Returns the shard if it is mapped already, else null, without counting
  // its user: the pointer is valid as long as the table lives.
  const ShardFile* KeptShard(std::uint32_t shard) const noexcept {
    return open_[shard].load(std::memory_order_acquire);
  }
  // The fault that is remembered of a shard, or null.
  std::shared_ptr<const Error> KnownFault(std::uint32_t shard);
  // From now on, shards whose fault is remembered are tried again.
  void ForgetFaults();

  // For a store: begins to fetch the shard's frame. Keep the result until the shard is
  // open.
  std::vector<ShardParts::Held> BeginOpening(std::uint32_t shard) const;
  // If the shard lies in a folder and is not open, makes the kernel begin to read its frame, and
  // does not wait for that.
  void AskForFrame(std::uint32_t shard) const noexcept;
  // The most memory that the table takes. A mapped shard takes more than others, for its directory.
  std::uint64_t MemoryBytes() const noexcept;
  // For a store: the most bytes of shards' frames that stay in memory at once.
  std::uint64_t FrameBytes() const noexcept;
  // For a store: fetches a block, waits for it, and holds it. If blocks are asked for in
  // order, also begins to fetch the next ones. Throws Error. Thread-safe.
  ShardParts::Held HoldBlock(std::uint32_t shard, const ShardFile& file, std::uint32_t block);

  // The shards if they are read from a store, else null.
  const std::shared_ptr<RemoteShards> remote;

 private:
  static ShardUse Uncounted(const ShardFile* shard) noexcept { return {ShardUse(), shard}; }
  std::unique_ptr<ShardFile> Open(std::uint32_t shard) const;
  std::filesystem::path PlaceOf(std::uint32_t shard) const;
  ShardUse OpenNow(std::uint32_t shard);
  ShardUse OpenInPart(std::uint32_t shard);
  std::shared_ptr<const Error> Remember(std::uint32_t shard, const Error& error);

  std::atomic<std::uint64_t> last_held_{0};  // the block that HoldBlock() was asked for last
  const DatasetFacts& facts_;
  const MapAdvice advice_;
  const std::size_t max_mapped_;
  const std::shared_ptr<const ShardSchema> schema_;
  // Null if all shards stay mapped.
  const std::unique_ptr<RecentShards> recent_;
  Mutex open_mutex_;  // if all stay mapped, also held while a shard is being mapped
  std::vector<std::unique_ptr<ShardFile>> kept_ GUARDED_BY(open_mutex_);  // if all stay mapped
  std::vector<std::atomic<const ShardFile*>> open_;                       // if all stay mapped

  std::atomic<bool> any_fault_{false};
  Mutex fault_mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const Error>> faults_
      GUARDED_BY(fault_mutex_);  // by shard
};

}  // namespace sluice
