// Shards opened for reading past the page cache (O_DIRECT).
//
// A file system that refuses that is read through the page cache, by the same reads, and what they
// left there is let go of again. Few descriptors are open at a time; a shard that has lost its own
// is opened by its name again. Where that name leads to another file by now, or to none, it is the
// shard's mapping that is read: it stays what it was. Thread-safe.
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
  // `refuse`: as if every file system did, for tests.
  explicit DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse = false);

  struct File {
    FileHandle handle;  // none: to be read by ReadMapped()
    bool direct = false;
    ShardUse shard;
  };
  std::shared_ptr<const File> Open(std::uint32_t number, const ShardUse& shard);
  // For a shard that could be opened with O_DIRECT, and not be read so (EINVAL): from here on it is
  // one of a file system that refuses.
  std::shared_ptr<const File> Refuse(std::uint32_t number, const ShardUse& shard);

  // A block, read by the calling thread. What cannot be read of it is Lost().
  std::shared_ptr<const HeldBlock> Read(std::uint32_t number, const ShardUse& shard,
                                        std::uint32_t block);

  // Copies a range of a block out of its shard's mapping.
  static void ReadMapped(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                         HeldBlock& held);
  // Reads a range of a block once more, page by page and through the page cache, so that a bad page
  // costs no more than itself.
  static void Salvage(const File& file, std::uint64_t block_offset, ByteRange range,
                      HeldBlock& held);
  // To be called when a range has been read: see above.
  static void LetGo(const File& file, std::uint64_t offset, std::uint64_t bytes) noexcept;

  BlockMemory& memory() noexcept { return *memory_; }
  // How many shards lie on a file system that refuses.
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
  std::set<FileId> unreadable_ GUARDED_BY(mutex_);  // with O_DIRECT
};

}  // namespace sluice
