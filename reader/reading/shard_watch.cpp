#include "reader/reading/shard_watch.h"

#include <system_error>
#include <utility>

namespace sluice {

ShardWatch::~ShardWatch() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void ShardWatch::LookSoon(std::uint32_t shard) {
  const bool new_epoch = looked_at_[shard] < epoch_begun_;
  looked_at_[shard] = batch_;
  if (new_epoch) {
    Look(shard);
  } else {
    due_.push_back(shard);
  }
}

// Needs no result: StillTheSame() makes a changed shard fail from now on.
void ShardWatch::Look(std::uint32_t shard) {
  if (const ShardUse file = dataset_.table.OpenShard(shard)) file->StillTheSame();
}

void ShardWatch::LookAtDue() {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {  // no more threads
    for (const std::uint32_t shard : std::exchange(due_, {}))
      Look(shard);
    return;
  }
  {
    const MutexLock lock(mutex_);
    queue_.insert(queue_.end(), due_.begin(), due_.end());
  }
  due_.clear();
  changed_.NotifyOne();
}

void ShardWatch::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const std::uint32_t shard = queue_.back();
    queue_.pop_back();
    const MutexUnlock unlocked(mutex_);
    try {
      Look(shard);
    } catch (const std::bad_alloc&) {
      continue;  // the shard is examined again some batches later
    }
  }
}

}  // namespace sluice
