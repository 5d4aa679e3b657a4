// The samples that could not be read, and the shards that could not be opened. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sluice/sample_fault.h>

#include "format/mutex.h"

namespace sluice {

class FaultLog {
 public:
  // Sets `fault.times` itself.
  void Add(SampleFault fault);
  // Notes that a sample was asked for whose whole shard cannot be opened.
  void AddShard(std::uint32_t shard, SampleFault fault);
  // The same for a shard that is in the log already. False if it is not.
  bool MetAgain(std::uint32_t shard, std::uint64_t epoch);
  std::uint64_t count() const;
  std::vector<SampleFault> List() const;

 private:
  static constexpr std::size_t kMostKept = 10'000;  // of both together
  mutable Mutex mutex_;
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, SampleFault> by_sample_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, SampleFault> by_shard_ GUARDED_BY(mutex_);
};

}  // namespace sluice
