#include "reader/dataset/key_cache.h"

#include <algorithm>

namespace sluice {

namespace {
// The latest chunk is always kept, whatever its size.
constexpr std::size_t kMostChunks = 64;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
}  // namespace

std::string KeyCache::Key(const ShardFile& shard, std::uint64_t sample, std::uint64_t most) {
  const MutexLock lock(mutex_);
  try {
    std::string key = shard.Key(sample, EntryOf(shard).chunk, most);
    DropOld();
    return key;
  } catch (...) {
    if (!entries_.empty() && entries_.front().shard == shard.id()) entries_.pop_front();
    throw;
  }
}

KeyCache::Entry& KeyCache::EntryOf(const ShardFile& shard) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&shard](const Entry& entry) {
    return entry.shard == shard.id();
  });
  if (found == entries_.end()) {
    entries_.push_front({shard.id(), {}});
  } else {
    entries_.splice(entries_.begin(), entries_, found);
  }
  return entries_.front();
}

void KeyCache::DropOld() {
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++kept) {
    bytes += entry->chunk.content.capacity();
    const bool old = kept > 0 && (kept >= kMostChunks || bytes > kMostBytes);
    entry = old ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace sluice
