#include "reader/pipeline/fault_log.h"

#include <algorithm>

namespace sluice {

void FaultLog::Add(SampleFault fault) {
  const std::lock_guard lock(mutex_);
  ++count_;
  const auto known = by_sample_.find(fault.sample);
  if (known != by_sample_.end()) {
    ++known->second.times;
    known->second.epoch = std::min(known->second.epoch, fault.epoch);
  } else if (by_sample_.size() < kMostKept) {
    fault.times = 1;
    by_sample_.emplace(fault.sample, std::move(fault));
  }
}

std::uint64_t FaultLog::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<SampleFault> FaultLog::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<SampleFault> list;
  list.reserve(by_sample_.size());
  for (const auto& [sample, fault] : by_sample_)
    list.push_back(fault);
  return list;
}

}  // namespace sluice
