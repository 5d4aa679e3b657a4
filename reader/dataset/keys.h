// The samples' keys: from a sample to its key (KeyCache), and back (KeyIndex).
//
// Keys are compressed in chunks of thousands, in the samples' order (format/FORMAT.md, "Keys").
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.h>

#include "format/disk/keys.h"
#include "format/disk/shard.h"
#include "format/mutex.h"

namespace sluice {

struct DatasetState;

// The most bytes of keys that a loader decompresses to find one key (MutableSample::key()). The
// loader's memory bound includes them. A usual chunk takes a tenth of that.
inline constexpr std::uint64_t kMaxKeyChunkBytes = std::uint64_t{4} << 20;

// Keeps the chunk that was last decompressed of each shard, for up to 64 shards. If callers ask for
// keys in the samples' order, each chunk is decompressed once, even if several threads go through
// several shards. Thread-safe.
class KeyCache {
 public:
  // The most bytes of keys that are kept, except that the latest chunk is kept whatever its size.
  static constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20;
  // The memory of the keys kept, and of one chunk that is being decompressed.
  static constexpr std::uint64_t kMemoryBytes = kMaxKeptBytes + kMaxKeyChunkBytes;

  // The key of a sample of that shard. Throws Error(kCorrupt), or Error(kLimit) if its chunk has
  // more than `most` bytes.
  std::string Key(const ShardFile& shard, std::uint64_t sample, std::uint64_t most = UINT64_MAX);

 private:
  struct Entry {
    Id128 shard;
    KeyChunk chunk;
  };
  // Returns the shard's entry, which becomes the newest. If the shard has none, adds one without a
  // chunk.
  Entry& EntryOf(const ShardFile& shard) REQUIRES(mutex_);
  void DropOld() REQUIRES(mutex_);

  Mutex mutex_;  // held while decompressing, since other threads may need the same chunk
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the newest first
};

// Finds samples by key, for Dataset::Find(). The first call reads all keys, and keeps a hash of
// each with the sample's number. Shards whose keys cannot be read are left out; a call that does
// not find its key in the other shards tries to read the left-out ones again. Thread-safe.
class KeyIndex {
 public:
  // The first sample with that key among the shards that can be read. Throws Error if none of them
  // has the key and a shard cannot be read.
  std::optional<std::uint64_t> Find(DatasetState& dataset, std::string_view key);

 private:
  struct Entry {
    std::uint64_t hash = 0, sample = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Keys {
    std::vector<Entry> entries;          // sorted by hash, then by sample
    std::vector<std::uint32_t> unread;   // shards
    std::shared_ptr<const Error> fault;  // error of the first shard that could not be read
  };
  static std::optional<std::uint64_t> FindIn(const Keys& keys, DatasetState& dataset,
                                             std::string_view key,
                                             std::shared_ptr<const Error>& fault);
  static Keys Read(DatasetState& dataset, const std::vector<std::uint32_t>& shards);
  std::shared_ptr<const Keys> All(DatasetState& dataset, bool try_again);

  Mutex mutex_;  // held while keys are read, since other threads need them, too
  std::shared_ptr<const Keys> keys_ GUARDED_BY(mutex_);  // null: not read yet
};

}  // namespace sluice
