#include "reader/decoding/fault_log.h"

#include <algorithm>

namespace sluice {

namespace {

void Again(SampleFault& known, std::uint64_t epoch) {
  ++known.times;
  known.epoch = std::min(known.epoch, epoch);
}

// Counts the fault; a new one gets an entry if there is room.
template <class Number>
void Note(std::map<Number, SampleFault>& faults, Number number, SampleFault fault,
          std::size_t most) {
  const auto known = faults.find(number);
  if (known != faults.end()) {
    Again(known->second, fault.epoch);
  } else if (faults.size() < most) {
    fault.times = 1;
    faults.emplace(number, std::move(fault));
  }
}

}  // namespace

void FaultLog::Add(SampleFault fault) {
  const MutexLock lock(mutex_);
  ++count_;
  const std::uint64_t sample = fault.sample;
  Note(by_sample_, sample, std::move(fault), kMostKept - by_shard_.size());
}

void FaultLog::AddShard(std::uint32_t shard, SampleFault fault) {
  const MutexLock lock(mutex_);
  ++count_;
  Note(by_shard_, shard, std::move(fault), kMostKept - by_sample_.size());
}

bool FaultLog::MetAgain(std::uint32_t shard, std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  const auto known = by_shard_.find(shard);
  if (known == by_shard_.end()) return false;
  ++count_;
  Again(known->second, epoch);
  return true;
}

std::uint64_t FaultLog::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

std::vector<SampleFault> FaultLog::List() const {
  const MutexLock lock(mutex_);
  std::vector<SampleFault> list;
  list.reserve(by_sample_.size() + by_shard_.size());
  for (const auto& [sample, fault] : by_sample_)
    list.push_back(fault);
  for (const auto& [shard, fault] : by_shard_)
    list.push_back(fault);
  std::stable_sort(list.begin(), list.end(),
                   [](const SampleFault& a, const SampleFault& b) { return a.sample < b.sample; });
  return list;
}

}  // namespace sluice
