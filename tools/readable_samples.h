// The samples of the shards that are there, for commands that go through all of a dataset, and an
// account of what they could not read.
//
// Each shard is looked at before anything else. One that is missing or cut short is one fault,
// whatever number of samples a manifest says it has: these are counted, and nobody asks for them
// one by one. At most kMostKept reasons are kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

class ReadableSamples {
 public:
  static constexpr std::size_t kMostKept = 100;

  // Ends early, with the shards seen until then, when asked to stop.
  ReadableSamples(const Dataset& dataset, const std::stop_token& stop);

  std::uint64_t size() const noexcept { return size_; }
  // The number in the dataset of the i-th of them. O(log shards).
  std::uint64_t operator[](std::uint64_t i) const noexcept;

  // It could not be read, either. Thread-safe.
  void LeaveOut(std::uint64_t sample, const std::string& why);

  // Samples, those of missing shards included. Not while threads leave out more.
  std::uint64_t left_out() const noexcept { return left_out_; }
  const std::vector<std::string>& reasons() const noexcept { return reasons_; }
  // A line for each reason, which begins with `what`, and one for those that are not kept.
  std::string Text(const std::string& what) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // from which i on, which sample
  std::uint64_t size_ = 0;
  std::mutex mutex_;
  std::uint64_t left_out_ = 0;
  std::uint64_t not_kept_ = 0;  // reasons
  std::vector<std::string> reasons_;
};

}  // namespace sluice
