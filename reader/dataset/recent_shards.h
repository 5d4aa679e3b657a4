// The mapped shards of a dataset that has more of them than a process may have mappings: those used
// last, and whatever else somebody uses. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "format/disk/shard.h"

namespace sluice {

// A shard for as long as it is used: it stays mapped while one of these lives. Where a dataset
// keeps all of its shards mapped this counts nothing, and costs what a pointer does.
using ShardUse = std::shared_ptr<const ShardFile>;

class RecentShards {
 public:
  // So many stay mapped; more while more are used.
  explicit RecentShards(std::size_t most) : most_(most) {}

  // Null if it is not mapped.
  ShardUse Find(std::uint32_t shard);
  // Keeps a shard that has been opened, in the place of what was kept of it.
  void Keep(std::uint32_t shard, ShardUse file);
  void Drop(std::uint32_t shard);
  // Lets go of half of what nobody uses: the system has no more mappings.
  void DropHalf();

 private:
  using Shards = std::list<std::pair<std::uint32_t, ShardUse>>;
  // Moves what is over `most` and not used to `gone`. Mutex held.
  void TakeOver(std::size_t most, std::size_t tries, Shards& gone);

  const std::size_t most_;
  std::mutex mutex_;
  Shards by_use_;  // used last: first
  std::unordered_map<std::uint32_t, Shards::iterator> at_;
};

// How many shards of a dataset stay mapped: 16,384, or a quarter of what the system lets a process
// map (vm.max_map_count), which is shared with other datasets and everything else; or what the
// environment's SLUICE_MAX_MAPPED_SHARDS says.
std::size_t MostMappedShards();

}  // namespace sluice
