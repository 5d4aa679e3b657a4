#include "reader/dataset/recent_shards.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

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
  // A few tries for each new shard: shards in use are passed over, and not all of them lie at the
  // end.
  constexpr std::size_t kTries = 8;
  TakeOver(most_, kTries, gone);
}

void RecentShards::Drop(std::uint32_t shard) {
  Shards gone;
  const MutexLock lock(mutex_);
  const auto found = at_.find(shard);
  if (found == at_.end()) return;
  gone.splice(gone.begin(), by_use_, found->second);
  at_.erase(found);
}

void RecentShards::DropHalf() {
  Shards gone;
  const MutexLock lock(mutex_);
  TakeOver(by_use_.size() / 2, by_use_.size(), gone);
}

void RecentShards::TakeOver(std::size_t most, std::size_t tries, Shards& gone) {
  for (; tries > 0 && by_use_.size() > most; --tries) {
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

std::size_t MostMappedShards() {
  constexpr std::size_t kMost = 16'384;
  if (const char* const text = std::getenv("SLUICE_MAX_MAPPED_SHARDS")) {
    const std::string_view number(text);
    std::size_t most = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), most);
    if (error == std::errc() && end == number.data() + number.size() && most > 0) return most;
  }
  std::size_t mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  return mappings == 0 ? kMost : std::clamp<std::size_t>(mappings / 4, 1, kMost);
}

}  // namespace sluice
