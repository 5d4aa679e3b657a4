// Remembers which samples' payloads have been compared with their checksums, for Verify::kAuto,
// which compares a raw payload only until it has matched once.
//
// Samples are noted by file, because a shard that is opened again may be another file then. A
// sample whose payload does not match is never noted, so that the damage is found again whenever
// the sample is played: an epoch's batches do not depend on earlier epochs. Thread-safe. A lock is
// taken only if the shard's file is not the one used last.
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
  explicit ComparedPayloads(std::size_t shards) : last_used_(shards), chains_(shards) {}

  // `file` is the sample's shard. The first call for a file may throw std::bad_alloc.
  bool Has(const SampleRef& ref, const ShardFile& file) {
    const std::uint64_t number = std::uint64_t{ref.block} * file.block_samples() + ref.record;
    const std::uint64_t word =
        BitsOf(ref.shard, file).words[number / 64].load(std::memory_order_relaxed);
    return (word >> (number % 64) & 1) != 0;
  }
  void Add(const SampleRef& ref, const ShardFile& file);

  // Bytes of memory for that many samples.
  static std::uint64_t MemoryBytes(std::uint64_t samples, std::uint64_t shards) {
    return samples / 8 + 128 * shards;
  }

 private:
  struct FileBits {
    FileId file;
    std::vector<std::atomic<std::uint64_t>> words;  // one bit for each sample
    std::unique_ptr<FileBits> older;                // bits of earlier files of the same shard
  };
  FileBits& BitsOf(std::uint32_t shard, const ShardFile& file) {
    FileBits* const last_used = last_used_[shard].load(std::memory_order_acquire);
    return last_used != nullptr && last_used->file == file.file() ? *last_used
                                                                  : FindOrAdd(shard, file);
  }
  FileBits& FindOrAdd(std::uint32_t shard, const ShardFile& file);

  std::vector<std::atomic<FileBits*>> last_used_;  // by shard
  Mutex mutex_;
  std::vector<std::unique_ptr<FileBits>> chains_ GUARDED_BY(mutex_);  // by shard
};

inline ComparedPayloads::FileBits& ComparedPayloads::FindOrAdd(std::uint32_t shard,
                                                               const ShardFile& file) {
  const MutexLock lock(mutex_);
  FileBits* found = chains_[shard].get();
  while (found != nullptr && found->file != file.file())
    found = found->older.get();
  if (found == nullptr) {
    auto made = std::make_unique<FileBits>();
    made->file = file.file();
    made->words = std::vector<std::atomic<std::uint64_t>>((file.samples() + 63) / 64);
    made->older = std::move(chains_[shard]);
    found = made.get();
    chains_[shard] = std::move(made);
  }
  last_used_[shard].store(found, std::memory_order_release);
  return *found;
}

inline void ComparedPayloads::Add(const SampleRef& ref, const ShardFile& file) {
  const std::uint64_t number = std::uint64_t{ref.block} * file.block_samples() + ref.record;
  BitsOf(ref.shard, file)
      .words[number / 64]
      .fetch_or(std::uint64_t{1} << (number % 64), std::memory_order_relaxed);
}

}  // namespace sluice
