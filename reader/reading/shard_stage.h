// LoaderOptions::stage: shards copied to a fast local disk as they are first read.
//
// A shard that has been copied already, by this process or another, is read from there at once; any
// other is read where it lies until a thread of its own has copied it. The folder holds one
// subfolder for each dataset, named by its id:
//
//   STAGE/lock                    held for moments: who changes what is in the folder
//   STAGE/ID/lock                 held, shared, for as long as a process reads from there
//   STAGE/ID/shard-00000.sluice   a finished copy
//   STAGE/ID/shard-00000.sluice.tmp   one that is being made, and locked by whoever makes it
//
// Locks are flock's: the kernel lets go of them when a process dies, so that what it left is taken
// over or cleaned away. Nobody waits for one: while it cannot be had, shards are read where they
// lie. A copy gets its name when it has reached the disk. Where the budget has no
// room, copies of datasets that nobody reads are removed, the longest unused dataset first; then no
// more is copied. A folder that is not of that form, or has anything else in it, is never touched.
// A copy that gives other samples than its original is removed and made anew, once.
// What goes wrong here is never an error: the shard is read where it lies.
#pragma once

#include <deque>
#include <filesystem>
#include <thread>
#include <vector>

#include "format/disk/file.h"
#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

class ShardStage {
 public:
  // `dataset` must outlive it, and is nobody else's. Throws Error(kIo) where the folder cannot be
  // made or written to.
  ShardStage(DatasetState& dataset, const std::filesystem::path& folder, std::uint64_t budget);
  ~ShardStage() { Close(); }
  // Ends its thread, and lets other processes remove the copies. Nobody calls Want() or Reject()
  // any more. Once, by one thread.
  void Close();

  // The planner is about to read from a shard. One thread.
  void Want(std::uint32_t shard);
  // A sample could not be read from that copy, and from its original it could: the shard is read
  // there, and the copy is removed. Any thread.
  void Reject(std::uint32_t shard, const ShardUse& copy);

  std::uint64_t staged() const noexcept { return staged_.load(std::memory_order_relaxed); }

 private:
  enum class Outcome { kCopied, kNoRoom, kFailed, kBusy };
  struct Task {
    std::uint32_t shard = 0;
    ShardUse rejected;  // a copy that is to be removed first
    bool copy = true;
  };
  void Run();
  bool Enter();
  bool EnterSoon() REQUIRES(mutex_);
  bool Adopt(std::uint32_t shard);
  Outcome Do(const Task& task);
  Outcome Begin(const Task& task, FileHandle& copy);
  bool MakeRoom(std::uint64_t bytes) const;
  std::filesystem::path PathOf(std::uint32_t shard) const;

  DatasetState& dataset_;
  const std::filesystem::path root_;
  const std::filesystem::path folder_;
  const std::uint64_t budget_;
  FileHandle in_use_;                 // the dataset's lock;
  std::atomic<bool> entered_{false};  // whether it is held: copies stay where they are
  std::vector<bool> wanted_;          // the planner's
  std::atomic<std::uint64_t> staged_{0};
  std::atomic<bool> stopping_{false};

  Mutex mutex_;
  Condition changed_;
  std::deque<Task> queue_ GUARDED_BY(mutex_);
  std::vector<bool> rejected_ GUARDED_BY(mutex_);  // shards of which a copy was
  std::thread thread_;
};

}  // namespace sluice
