// The samples that could not be read. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/loader.h>

namespace sluice {

class FaultLog {
 public:
  // `fault.times` is counted here.
  void Add(SampleFault fault);
  std::uint64_t count() const;
  std::vector<SampleFault> List() const;

 private:
  static constexpr std::size_t kMostKept = 10'000;
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::map<std::uint64_t, SampleFault> by_sample_;
};

}  // namespace sluice
