// Shards opened for reading past the page cache (O_DIRECT).
//
// If a file system refuses that, the same reads go through the page cache, and what they leave
// there is dropped again. Only some descriptors are open at a time; a shard that has lost its own
// is opened by its name again. If that name leads to another file by now, or to none, the shard's
// mapping is read instead, because a mapping stays the same. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "format/disk/file.h"
#include "format/disk/shard.h"
#include "format/mutex.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

class DirectFiles {
 public:
  // `refuse`: acts as if every file system refused O_DIRECT, for tests.
  explicit DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse = false);

  struct File {
    FileHandle handle;  // empty: read with ReadMapped()
    bool direct = false;
    ShardUse shard;
  };
  std::shared_ptr<const File> Open(std::uint32_t number, const ShardUse& shard);
  // For a shard that was opened with O_DIRECT and could not be read so (EINVAL): treats its file
  // system as one that refuses from now on.
  std::shared_ptr<const File> Refuse(std::uint32_t number, const ShardUse& shard);

  // Reads a block in the calling thread. Parts that cannot be read are Lost().
  std::shared_ptr<const HeldBlock> Read(std::uint32_t number, const ShardUse& shard,
                                        std::uint32_t block);

  // Copies a range of a block from its shard's mapping.
  static void ReadMapped(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                         HeldBlock& held);
  // Reads a range of a block again, page by page and through the page cache, so that a bad page
  // costs only itself.
  static void Salvage(const File& file, std::uint64_t block_offset, ByteRange range,
                      HeldBlock& held);
  // Drops a range from the page cache if it was read through it. Call it when the range has been
  // read.
  static void LetGo(const File& file, std::uint64_t offset, std::uint64_t bytes) noexcept;

  BlockMemory& memory() noexcept { return *memory_; }
  // The number of shards on a file system that refuses.
  std::uint64_t refused() const;

 private:
  std::shared_ptr<const File> Keep(std::uint32_t number, FileHandle handle, bool direct,
                                   const ShardUse& shard) REQUIRES(mutex_);

  const std::shared_ptr<BlockMemory> memory_;
  const bool refuse_;
  const std::size_t most_open_;
  struct Entry {
    std::shared_ptr<const File> file;
    std::uint64_t used = 0;
  };
  mutable Mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> open_ GUARDED_BY(mutex_);
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::uint32_t> refused_ GUARDED_BY(mutex_);
  std::set<FileId> unreadable_ GUARDED_BY(mutex_);  // files that failed with O_DIRECT
};

}  // namespace sluice
