// Keys that were decompressed last.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "format/disk/keys.h"
#include "format/disk/shard.h"

namespace sluice {

// Keys lie compressed by thousands (format/FORMAT.md, "Keys"): whoever asks for one after the other
// has each chunk decompressed once, though several threads go through several shards. Any thread.
class KeyCache {
 public:
  // The key of a sample of that shard. Throws Error(kCorrupt); also where its chunk has more than
  // `most` bytes.
  std::string Key(const ShardFile& shard, std::uint64_t sample, std::uint64_t most = UINT64_MAX);

 private:
  struct Entry {
    Id128 shard;
    KeyChunk chunk;
  };
  // The shard's entry, made the newest; without its chunk if there was none.
  Entry& EntryOf(const ShardFile& shard);
  void DropOld();

  std::mutex mutex_;          // held while a chunk is decompressed, which others need as well
  std::list<Entry> entries_;  // the newest first
};

}  // namespace sluice
