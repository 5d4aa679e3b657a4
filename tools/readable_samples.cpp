#include "tools/readable_samples.h"

#include <algorithm>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice {

ReadableSamples::ReadableSamples(const Dataset& dataset, const std::stop_token& stop) {
  ShardFaults faults = dataset.LookAtShards(stop);
  left_out_ = faults.samples;
  reasons_ = std::move(faults.reasons);
  reasons_.resize(std::min(reasons_.size(), kMostKept));
  not_kept_ = faults.shards - reasons_.size();
  std::uint64_t first = 0;
  for (std::size_t s = 0; s < dataset.shards().size(); ++s) {
    const std::uint64_t samples = dataset.shards()[s].samples;
    if (!faults.faulty[s]) {
      ranges_.emplace_back(size_, first);
      size_ += samples;
    }
    first += samples;
  }
}

std::uint64_t ReadableSamples::operator[](std::uint64_t i) const noexcept {
  const auto after = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [i](const auto& range) { return range.first <= i; });
  const auto& [begin, sample] = *std::prev(after);
  return sample + (i - begin);
}

void ReadableSamples::LeaveOut(std::uint64_t sample, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++left_out_;
  if (reasons_.size() < kMostKept) {
    reasons_.push_back("sample " + std::to_string(sample) + ": " + why);
  } else {
    ++not_kept_;
  }
}

std::string ReadableSamples::Text(const std::string& what) const {
  std::string text;
  for (const std::string& reason : reasons_)
    text += what + ": " + cli::Printable(reason) + "\n";
  if (not_kept_ > 0) text += what + ": and " + std::to_string(not_kept_) + " more\n";
  return text;
}

}  // namespace sluice
