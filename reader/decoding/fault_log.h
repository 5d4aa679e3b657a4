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
  // `fault.times` is counted here.
  void Add(SampleFault fault);
  // One of a shard's samples was met, of which none can be had.
  void AddShard(std::uint32_t shard, SampleFault fault);
  // The same, where it is known: false if it is not.
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
