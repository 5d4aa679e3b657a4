// From keys to sample numbers: Dataset::Find().
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "format/mutex.h"

namespace sluice {

struct DatasetState;

// Keys are stored in the samples' order (format/FORMAT.md, "Keys"), so the first question reads all
// of them, and keeps a hash of each with the sample's number. Thread-safe.
class KeyIndex {
 public:
  // The first sample of that key. Throws Error if keys cannot be read.
  std::optional<std::uint64_t> Find(DatasetState& dataset, std::string_view key);

 private:
  struct Entry {
    std::uint64_t hash = 0, sample = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  using Entries = std::vector<Entry>;  // sorted
  static Entries Read(DatasetState& dataset);

  Mutex mutex_;  // held while keys are read: other threads need them, too
  std::shared_ptr<const Entries> entries_ GUARDED_BY(mutex_);  // null: not read yet
};

}  // namespace sluice
