// The mapped shards of a dataset with more shards than a process may have mappings: those used
// last, and all that are in use. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "format/disk/shard.h"
#include "format/mutex.h"

namespace sluice {

// Keeps a shard mapped while it lives. If the dataset keeps all of its shards mapped, this counts
// nothing and costs no more than a pointer.
using ShardUse = std::shared_ptr<const ShardFile>;

class RecentShards {
 public:
  // `most` shards stay mapped; more only while more are in use.
  explicit RecentShards(std::size_t most) : most_(most) {}

  // Null if it is not mapped.
  ShardUse Find(std::uint32_t shard);
  // Keeps an opened shard, in place of an earlier mapping of it.
  void Keep(std::uint32_t shard, ShardUse file);
  void Drop(std::uint32_t shard);
  // Drops half of the shards that nobody uses: for when the system has no mappings left.
  void DropHalf();

 private:
  using Shards = std::list<std::pair<std::uint32_t, ShardUse>>;
  // Moves unused shards beyond `most` to `gone`.
  void TakeOver(std::size_t most, std::size_t tries, Shards& gone) REQUIRES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  Shards by_use_ GUARDED_BY(mutex_);  // used last: first
  std::unordered_map<std::uint32_t, Shards::iterator> at_ GUARDED_BY(mutex_);
};

// How many shards of a dataset stay mapped: 16,384, or a quarter of the mappings the system allows
// a process (vm.max_map_count), because other datasets and code need some; or the number in the
// environment variable SLUICE_MAX_MAPPED_SHARDS.
std::size_t MostMappedShards();

}  // namespace sluice
