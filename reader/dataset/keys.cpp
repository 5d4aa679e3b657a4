// KeyIndex keeps a hash and a number for each sample, not the key. So FindIn() reads the key of
// each sample with the right hash and compares it. Entries with equal hashes are sorted by sample,
// so the first sample with the key wins.
//
// Damage makes "not found" uncertain. Find() looks among the shards that could be read, then tries
// the others once more; if one still cannot be read, it throws instead of returning nothing.
#include "reader/dataset/keys.h"

#include <algorithm>
#include <new>
#include <numeric>

#include "format/disk/checksum.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxKeyChunks = 64;  // the most chunks that KeyCache keeps, one a shard

std::uint64_t HashOfKey(std::string_view key) noexcept {
  return Hash64(std::as_bytes(std::span(key)));
}

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
  const auto found = std::ranges::find(entries_, shard.id(), &Entry::shard);
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
    const bool old = kept > 0 && (kept >= kMaxKeyChunks || bytes > kMaxKeptBytes);
    entry = old ? entries_.erase(entry) : std::next(entry);
  }
}

std::optional<std::uint64_t> KeyIndex::Find(DatasetState& dataset, std::string_view key) {
  std::shared_ptr<const Error> fault;
  for (const bool try_again : {false, true}) {
    const std::shared_ptr<const Keys> keys = All(dataset, try_again);
    fault = keys->fault;
    if (const auto sample = FindIn(*keys, dataset, key, fault)) return sample;
    if (fault == nullptr) return std::nullopt;
  }
  throw Error(fault->code(), fault->file(), fault->place(),
              fault->sentence() +
                  "; the key is in none of the readable shards, so it may be in this damaged one");
}

std::optional<std::uint64_t> KeyIndex::FindIn(const Keys& keys, DatasetState& dataset,
                                              std::string_view key,
                                              std::shared_ptr<const Error>& fault) {
  // Other keys may have the same hash.
  const std::uint64_t hash = HashOfKey(key);
  for (auto at = std::lower_bound(keys.entries.begin(), keys.entries.end(), Entry{hash, 0});
       at != keys.entries.end() && at->hash == hash; ++at) {
    if (dataset.facts->Deleted(at->sample)) continue;
    const SampleRef ref = dataset.facts->shape.Sample(at->sample);
    try {
      const ShardUse shard = dataset.table.Shard(ref.shard);
      const std::uint64_t row = std::uint64_t{ref.block} * shard->block_samples() + ref.record;
      if (dataset.Key(*shard, row) == key) return at->sample;
    } catch (const Error& error) {  // another sample may have the key, too
      if (fault == nullptr) fault = std::make_shared<const Error>(error);
    }
  }
  return std::nullopt;
}

std::shared_ptr<const KeyIndex::Keys> KeyIndex::All(DatasetState& dataset, bool try_again) try {
  const MutexLock lock(mutex_);
  if (keys_ == nullptr) {
    std::vector<std::uint32_t> shards(dataset.facts->shards.size());
    std::iota(shards.begin(), shards.end(), 0U);
    keys_ = std::make_shared<const Keys>(Read(dataset, shards));
  } else if (try_again && !keys_->unread.empty()) {
    Keys more = Read(dataset, keys_->unread);
    if (more.unread.size() == keys_->unread.size()) return keys_;
    more.entries.insert(more.entries.end(), keys_->entries.begin(), keys_->entries.end());
    std::ranges::sort(more.entries);
    keys_ = std::make_shared<const Keys>(std::move(more));
  }
  return keys_;
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
              "finding a key needs 16 bytes of memory for each of the " +
                  std::to_string(dataset.facts->manifest.samples) +
                  " samples, and up to 48 while it reads their keys; there is not that much");
}

KeyIndex::Keys KeyIndex::Read(DatasetState& dataset, const std::vector<std::uint32_t>& shards) {
  // The entries grow as shards are read: no memory is reserved for the number of samples that the
  // manifest claims.
  Keys keys;
  for (const std::uint32_t s : shards) {
    const std::uint64_t first = dataset.facts->shape.first_sample(s);
    const std::size_t before = keys.entries.size();
    try {
      const ShardUse shard = dataset.table.Shard(s);
      KeyChunk chunk;
      for (std::uint64_t row = 0; row < shard->samples(); ++row) {
        if (!chunk.Holds(row)) shard->Key(row, chunk);
        keys.entries.push_back({HashOfKey(chunk.Key(row)), first + row});
      }
    } catch (const Error& error) {
      keys.entries.resize(before);
      keys.unread.push_back(s);
      if (keys.fault == nullptr) keys.fault = std::make_shared<const Error>(error);
    }
  }
  keys.entries.shrink_to_fit();
  std::ranges::sort(keys.entries);
  return keys;
}

}  // namespace sluice
