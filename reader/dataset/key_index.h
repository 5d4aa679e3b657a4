// From keys to sample numbers: Dataset::Find().
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <sluice/error.h>

#include "format/mutex.h"

namespace sluice {

struct DatasetState;

// Keys are stored in the samples' order (format/FORMAT.md, "Keys"), so the first question reads all
// of them, and keeps a hash of each with the sample's number. Shards whose keys cannot be read are
// left out; a question that the others do not answer tries them again. Thread-safe.
class KeyIndex {
 public:
  // The first sample of that key among the shards that can be read. Throws Error if none has it and
  // a shard cannot be read.
  std::optional<std::uint64_t> Find(DatasetState& dataset, std::string_view key);

 private:
  struct Entry {
    std::uint64_t hash = 0, sample = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Keys {
    std::vector<Entry> entries;          // sorted
    std::vector<std::uint32_t> unread;   // shards
    std::shared_ptr<const Error> fault;  // of the first unread shard
  };
  static std::optional<std::uint64_t> FindIn(const Keys& keys, DatasetState& dataset,
                                             std::string_view key,
                                             std::shared_ptr<const Error>& fault);
  static Keys Read(DatasetState& dataset, const std::vector<std::uint32_t>& shards);
  std::shared_ptr<const Keys> All(DatasetState& dataset, bool try_again);

  Mutex mutex_;  // held while keys are read: other threads need them, too
  std::shared_ptr<const Keys> keys_ GUARDED_BY(mutex_);  // null: not read yet
};

}  // namespace sluice
