// Reading past the page cache (LoaderOptions::storage = Direct): the open files, which all threads
// use, and the blocks read ahead, which the planner thread holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "format/disk/file.h"
#include "format/disk/shard.h"
#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/direct/block_io.h"
#include "reader/reading/direct/held_block.h"
#include "reader/reading/open_blocks.h"

namespace sluice {

// Shards opened for reading past the page cache (O_DIRECT).
//
// If a file system refuses that, the same reads go through the page cache, and the pages that they
// leave there are dropped again. Only some descriptors are open at a time; a shard whose descriptor
// was closed is opened by its name again. If that name now leads to another file, or to none, the
// shard's mapping is read instead, because a mapping stays the same. Thread-safe.
class DirectFiles {
 public:
  // `refuse` is for tests: acts as if every file system refused O_DIRECT.
  explicit DirectFiles(std::shared_ptr<BlockMemory> memory, bool refuse = false);

  struct File {
    FileHandle handle;  // empty: read with ReadMapped()
    bool direct = false;
    ShardUse shard;
  };
  std::shared_ptr<const File> Open(std::uint32_t number, const ShardUse& shard);
  // Call it for a shard that was opened with O_DIRECT and whose read failed with EINVAL. Opens the
  // shard's file without O_DIRECT, now and from now on, as on a file system that refuses O_DIRECT.
  std::shared_ptr<const File> Refuse(std::uint32_t number, const ShardUse& shard);

  // Reads a block on the calling thread. Parts that cannot be read are Lost().
  std::shared_ptr<const HeldBlock> Read(std::uint32_t number, const ShardUse& shard,
                                        std::uint32_t block);

  // Copies a range of a block from its shard's mapping.
  static void ReadMapped(const ShardFile& shard, std::uint64_t block_offset, ByteRange range,
                         HeldBlock& held);
  // Reads a range of a block again, page by page and through the page cache, so that a bad page
  // costs only itself.
  static void Salvage(const File& file, std::uint64_t block_offset, ByteRange range,
                      HeldBlock& held);
  // If a range was read through the page cache, drops it from there. Call it once the range has
  // been read.
  static void DropCached(const File& file, std::uint64_t offset, std::uint64_t bytes) noexcept;

  BlockMemory& memory() noexcept { return *memory_; }
  // The number of shards on file systems that refuse O_DIRECT.
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
  std::unordered_set<std::uint32_t> refused_ GUARDED_BY(mutex_);  // shards, for refused()
  std::set<FileId> unreadable_ GUARDED_BY(mutex_);                // files that failed with O_DIRECT
};

// Reads blocks, or the wanted parts of them, past the page cache into the loader's own memory
// (LoaderOptions::storage = Direct).
//
// A block is held from when the order announces it until all its rows of the epoch are planned; the
// rows keep it until they are decoded. If the budget is used up, which does not happen in steady
// playing, the least recently used block is dropped, and read again if a row needs it.
//
// Used by the planner thread only.
class DirectBlocks : public BlockSource {
 public:
  // `files` must outlive this object. `one_at_a_time`: rows come in the order of blocks
  // (Shuffle::kSequential). If `io` is null, io_uring is used if it is available, and threads
  // otherwise.
  DirectBlocks(const Wanted& wanted, DirectFiles& files, bool one_at_a_time,
               std::unique_ptr<BlockIo> io = nullptr);
  ~DirectBlocks() override;

  // The most bytes of blocks that are held at once.
  static std::uint64_t MemoryBytes(const DatasetFacts& dataset, const LoaderOptions& options);

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override;
  void EndBatch() override { Begin(); }
  void CloseAll() override { open_.Clear(); }
  void Cancel() override;
  bool holds_blocks() const noexcept override { return true; }

 private:
  void AwaitSome() override;
  // A block that was opened, and has not been read yet.
  struct Pending {
    std::uint64_t number = 0;
    std::shared_ptr<HeldBlock> held;
    ShardUse shard;
    std::uint32_t block = 0;  // its number in the shard
    std::shared_ptr<const DirectFiles::File> file;
    std::shared_ptr<const DirectFiles::File> refused;  // the former `file`, still being read from
    const FieldChoice* choice = nullptr;               // the wanted fields
    bool table_first = false;    // the table must be read to find the wanted fields
    std::list<BlockRead> reads;  // reads in flight
    bool failed = false;  // the shard cannot be opened, or there was not enough memory to read all
    bool done = false;    // no more reads will begin, and none is in flight
  };

  void Begin();
  std::shared_ptr<HeldBlock> AskFor(std::uint64_t block);
  void Start(Pending& pending);
  void StartRange(Pending& pending, ByteRange range);
  void StartParts(Pending& pending);
  // If none of the block's reads is in flight, begins the next round, or notes that it is done.
  void Continue(Pending& pending);
  void FinishRead();
  bool ReadsAgain(Pending& pending, BlockRead& read);
  void MakeRoom(std::uint64_t bytes);
  void Pop();

  DirectFiles& files_;
  std::unique_ptr<BlockIo> io_;
  OpenBlocks open_;
  // The requests in their order; Pop() takes done ones from the front.
  std::list<Pending> pending_;
  std::list<Pending>::iterator next_ = pending_.end();  // the first entry not begun
  std::size_t reads_in_flight_ = 0;
};

}  // namespace sluice
