// LoaderOptions::stage: copies each shard to a fast local disk when it is first read.
//
// If this process or another has already copied a shard, the shard is read from its copy at once.
// Otherwise it is read where it lies until the stage's thread has copied it. The folder holds one
// subfolder for each dataset, named by its id:
//
//   STAGE/lock                    held briefly by a process that changes the folder
//   STAGE/ID/lock                 held, shared, for as long as a process reads from there
//   STAGE/ID/shard-00000.sluice   a finished copy
//   STAGE/ID/.shard-00000.sluice.tmp  an unfinished copy, locked by the process that makes it
//
// Locks are flock's: the kernel releases them when a process dies, so that others can take over or
// remove the files that it left. Until a lock is free, shards are read where they lie; only the
// stage's thread waits. Another user's file cannot decide what is overwritten
// (format/disk/shared_folder.h).
//
// A copy gets its final name once it has reached the disk. If the budget has no room, the stage
// removes copies of datasets that no process reads, the least recently used dataset first; if that
// is not enough, it does not copy the shard. It removes nothing from a subfolder whose name is not
// an id, or that holds anything but copies and their lock. If a sample cannot be read from a copy,
// the stage removes the copy and makes it once more. Once the stage is constructed, a failure is
// not an error: the shard is read where it lies.
#pragma once

#include <deque>
#include <filesystem>
#include <thread>
#include <vector>

#include "format/disk/shared_folder.h"
#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

class ShardStage {
 public:
  // `dataset` must outlive the stage, and must not be shared with another loader. Throws Error: kIo
  // if the folder cannot be created or written to, kInvalidArgument if it lies in the dataset's own
  // folder.
  ShardStage(DatasetState& dataset, const std::filesystem::path& folder, std::uint64_t budget);
  ~ShardStage() { Close(); }
  // Ends the stage's thread, and lets other processes remove the copies. Call it when no thread
  // calls Want() or Reject() any more. A second call does nothing.
  void Close();

  // Call it before reading from a shard. Only one thread may call it.
  void Want(std::uint32_t shard);
  // Call it if a sample cannot be read from that copy. The shard is then read from the original,
  // and the stage removes the copy. After the first rejection of a shard, the stage copies it
  // again, and reads the new copy; after the second, it does not. Any thread may call it.
  void Reject(std::uint32_t shard, const ShardUse& copy);

  std::uint64_t staged() const noexcept { return staged_.load(std::memory_order_relaxed); }

 private:
  // kBusy: another process holds a lock, so the task must be tried again.
  enum class Outcome { kCopied, kNoRoom, kFailed, kBusy };
  struct Task {
    std::uint32_t shard = 0;
    ShardUse rejected;  // a copy to remove first
    bool copy = true;   // whether to make a copy
  };
  void Run();
  void CopyUntilStopped() REQUIRES(mutex_);
  // Takes the dataset's lock. Returns false if another process holds that lock, or the stage's.
  bool Enter();
  bool EnterSoon() REQUIRES(mutex_);
  // From now on, reads the shard from its copy. Returns false if it has no good copy.
  bool Adopt(std::uint32_t shard);
  Outcome Do(const Task& task);
  Outcome Begin(const Task& task, FileHandle& copy);
  bool MakeRoom(std::uint64_t bytes) const;
  std::string NameOf(std::uint32_t shard) const;
  static SharedFolder RootFor(const DatasetState& dataset, const std::filesystem::path& path);

  DatasetState& dataset_;
  const SharedFolder root_;
  std::shared_ptr<const SharedFolder> folder_;  // the dataset's
  const std::uint64_t budget_;
  FileHandle in_use_;  // the dataset's lock
  // Whether that lock is held, so that no process removes the copies.
  std::atomic<bool> entered_{false};
  std::vector<bool> wanted_;  // used by the planner only
  std::atomic<std::uint64_t> staged_{0};
  std::atomic<bool> stopping_{false};

  Mutex mutex_;
  Condition changed_;
  std::deque<Task> queue_ GUARDED_BY(mutex_);
  std::vector<bool> rejected_ GUARDED_BY(mutex_);  // shards of which a copy was rejected
  std::thread thread_;
};

}  // namespace sluice
