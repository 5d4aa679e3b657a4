// The keys decompressed last.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "format/disk/keys.h"
#include "format/disk/shard.h"
#include "format/mutex.h"

namespace sluice {

// The most bytes of keys that a loader decompresses to tell one; its memory bound includes them.
// Usual chunks take a tenth of that.
inline constexpr std::uint64_t kMaxKeyChunkBytes = std::uint64_t{4} << 20;

// Keys are compressed in chunks of thousands (format/FORMAT.md, "Keys"). A caller that asks for one
// key after another has each chunk decompressed once, even if several threads go through several
// shards. Thread-safe.
class KeyCache {
 public:
  // The key of a sample of that shard. Throws Error(kCorrupt), or Error(kLimit) if its chunk has
  // more than `most` bytes.
  std::string Key(const ShardFile& shard, std::uint64_t sample, std::uint64_t most = UINT64_MAX);

 private:
  struct Entry {
    Id128 shard;
    KeyChunk chunk;
  };
  // The shard's entry, made the newest; without its chunk if there was none.
  Entry& EntryOf(const ShardFile& shard) REQUIRES(mutex_);
  void DropOld() REQUIRES(mutex_);

  Mutex mutex_;  // held while decompressing: other threads need the same chunk
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the newest first
};

}  // namespace sluice
