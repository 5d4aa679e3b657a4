// Reading past the page cache (LoaderOptions::storage = Direct): the open files, which all threads
// use, and the blocks read ahead, which the planner thread holds.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "format/disk/file.h"
#include "format/disk/shard.h"
#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/direct/held_block.h"
#include "reader/reading/requested_blocks.h"

namespace sluice {

// A read of a part of a file into memory.
struct FileRead {
  int file = -1;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t done = 0;  // less than `bytes` at the file's end, or after an error
  int error = 0;         // errno, or 0
};
void ReadNow(FileRead& read) noexcept;

// Shards opened for reading past the page cache (O_DIRECT).
//
// If a file system refuses that, the same reads go through the page cache, and the pages that they
// leave there are dropped again. Only some descriptors are open at a time; a shard whose descriptor
// was closed is opened by its name again. If that name now leads to another file, or to none, the
// shard's mapping is read instead, because a mapping stays the same. Thread-safe.
class DirectFiles {
 public:
  // For tests: `refuse` acts as if every file system refused O_DIRECT, and `read` reads in place of
  // ReadNow().
  explicit DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse = false,
                       std::function<void(FileRead&)> read = ReadNow);

  // Reads a block on the calling thread. Parts that cannot be read are Lost(). Throws
  // std::bad_alloc.
  std::shared_ptr<const HeldBlock> Read(std::uint32_t number, const ShardUse& shard,
                                        std::uint32_t block);
  // Reads whole pages with a range of a block into the block's memory. Returns the bytes read.
  std::uint64_t Read(std::uint32_t number, const ShardUse& shard, std::uint32_t block,
                     ByteRange range, HeldBlock& held);

  BlockMemory& memory() noexcept { return *memory_; }
  // The number of shards on file systems that refuse O_DIRECT.
  std::uint64_t refused() const;

 private:
  struct File {
    FileHandle handle;  // empty: read with ReadMapped()
    bool direct = false;
    ShardUse shard;
  };
  std::shared_ptr<const File> Open(std::uint32_t number, const ShardUse& shard);
  // Call it for a shard that was opened with O_DIRECT and whose read failed with EINVAL. Opens the
  // shard's file without O_DIRECT, now and from now on, as on a file system that refuses O_DIRECT.
  std::shared_ptr<const File> Refuse(std::uint32_t number, const ShardUse& shard);
  std::shared_ptr<const File> Keep(std::uint32_t number, FileHandle handle, bool direct,
                                   const ShardUse& shard) REQUIRES(mutex_);
  // Copies a range of a block from its shard's mapping.
  static void ReadMapped(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                         HeldBlock& held);
  // Reads a range of a block again, page by page and through the page cache, so that a bad page
  // costs only itself.
  static void Salvage(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                      HeldBlock& held);

  const std::shared_ptr<BlockMemory> memory_;
  const bool refuse_;
  const std::function<void(FileRead&)> read_;
  const std::size_t most_open_;
  struct Entry {
    std::shared_ptr<const File> file;
    std::uint64_t used = 0;
  };
  mutable Mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> open_ GUARDED_BY(mutex_);
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::uint32_t> refused_ GUARDED_BY(mutex_);  // shards, for refused()
  std::set<FileId> unreadable_ GUARDED_BY(mutex_);                // files that failed with O_DIRECT
};

struct DirectRequest : BlockRequest {
  std::future<std::uint64_t> read;  // the bytes read; not valid if the block is not read
};

// Reads blocks, or the wanted parts of them, past the page cache into the loader's own memory
// (LoaderOptions::storage = Direct). Several threads read a block each.
//
// If the budget is used up, which does not happen in steady playing, the least recently used block
// is dropped, and read again if a row needs it.
class DirectBlocks : public RequestedBlocks<DirectRequest> {
 public:
  // As many as it takes to read blocks of 512 KiB, the usual size, to the usual depth of 16 MiB.
  static constexpr std::size_t kThreads = 32;

  // `files` must outlive this object. `options` must have been checked.
  DirectBlocks(const Wanted& wanted, const LoaderOptions& options, DirectFiles& files,
               std::size_t threads = kThreads);
  ~DirectBlocks() override;

  // The most bytes of blocks that are held at once.
  static std::uint64_t MemoryBytes(const DatasetFacts& dataset, const LoaderOptions& options);

  void Cancel() override;

 private:
  class Threads;
  DirectRequest RequestFor(std::uint64_t block) override;
  bool Start(DirectRequest& request) override;
  bool Finish(DirectRequest& request) override;
  std::uint64_t Read(const SampleRef& first, const FieldChoice& choice, HeldBlock& held) const;
  void MakeRoom(std::uint64_t bytes);

  DirectFiles& files_;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace sluice
