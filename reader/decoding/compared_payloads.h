// Which samples' payloads have been compared with their checksums already, for those that need be
// once.
//
// Kept by file: a copy of a shard (LoaderOptions::stage) is another file, which may be damaged
// where the shard is not. A sample whose payload does not match is never noted, so that it is found
// again whenever it is played: what an epoch gives does not depend on the epochs before it.
// Thread-safe, and lock-free but for the first sample of a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "format/disk/shard.h"
#include "format/mutex.h"
#include "reader/order/shape.h"

namespace sluice {

class ComparedPayloads {
 public:
  explicit ComparedPayloads(std::size_t shards) : newest_(shards), chains_(shards) {}

  // The sample, of a file that is its shard or a copy of it. The first throw std::bad_alloc.
  bool Has(const SampleRef& ref, const ShardFile& file);
  void Add(const SampleRef& ref, const ShardFile& file);

  // Of memory, for so many samples, each in a file or two.
  static std::uint64_t MemoryBytes(std::uint64_t samples, std::uint64_t shards, bool copied) {
    return (copied ? 2 : 1) * (samples / 8 + 128 * shards);
  }

 private:
  struct OfFile {
    FileId file;
    std::vector<std::atomic<std::uint64_t>> words;  // a bit a sample
    std::unique_ptr<OfFile> older;                  // of the same shard
  };
  OfFile& Of(std::uint32_t shard, const ShardFile& file);

  std::vector<std::atomic<OfFile*>> newest_;  // by shard: the one used last
  Mutex mutex_;
  std::vector<std::unique_ptr<OfFile>> chains_ GUARDED_BY(mutex_);  // by shard
};

}  // namespace sluice
