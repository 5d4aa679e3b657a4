// The state that all handles to an opened dataset share: what is known of it, its shards, and its
// keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/dataset.h>

#include "reader/dataset/dataset_facts.h"
#include "reader/dataset/keys.h"
#include "reader/dataset/shard_table.h"

namespace sluice {

struct DatasetState {
  DatasetState(std::shared_ptr<const DatasetFacts> of, const ShardTable::Options& options)
      : facts(std::move(of)), table(*facts, options) {
    for (const ColumnFacts& column : facts->columns)
      columns.push_back(std::make_shared<DatasetState>(column.facts, options));
  }

  // Opens the dataset at `path` (a folder or URL), the one in an object store, or a source that is
  // played without a conversion. Throws Error.
  static std::shared_ptr<DatasetState> Open(
      const std::filesystem::path& path, const ReadLimits& limits = {},
      std::size_t max_mapped = MaxMappedShards(), const std::stop_token& stop = {},
      DatasetFacts::Fields fields = DatasetFacts::Fields::kVisible);
  static std::shared_ptr<DatasetState> Open(std::shared_ptr<ObjectStore> store,
                                            const ReadLimits& limits = {},
                                            const std::stop_token& stop = {},
                                            const std::string& manifest = kManifestName);
  static std::shared_ptr<DatasetState> Open(std::shared_ptr<SampleSupply> samples,
                                            const ReadLimits& limits);
  // Joins the datasets of a mixture into one. Their shards are opened, and stay open, in the
  // datasets' own states.
  static std::shared_ptr<DatasetState> Mix(const Mixture& mixture);
  // Returns the same dataset with a shard table of its own, in which no shard is mapped yet.
  std::shared_ptr<DatasetState> WithOwnShards(ShardTable::Options options) const;

  operator const DatasetFacts&() const noexcept { return *facts; }

  // The key of a sample, by its number in the shard. Throws Error, also if its chunk of keys has
  // more than `max` bytes. Thread-safe.
  std::string Key(const ShardFile& file, std::uint64_t sample, std::uint64_t max = UINT64_MAX) {
    return keys.Key(file, sample, max);
  }
  // The number of the first sample with that key. Throws Error. Thread-safe.
  std::optional<std::uint64_t> Find(std::string_view key) { return by_key.Find(*this, key); }

  // The most bytes of memory that the state takes, besides what is mapped.
  std::uint64_t MemoryBytes() const noexcept;

  const std::shared_ptr<const DatasetFacts> facts;
  ShardTable table;
  KeyCache keys;
  KeyIndex by_key;
  std::vector<std::shared_ptr<DatasetState>> columns;  // as facts->columns
};

// A handle to an opened dataset.
Dataset DatasetOf(std::shared_ptr<DatasetState> state);

}  // namespace sluice
