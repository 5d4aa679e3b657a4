#include "reader/dataset/dataset_state.h"

#include <algorithm>

namespace sluice {

std::shared_ptr<DatasetState> DatasetState::Open(const std::filesystem::path& path,
                                                 const ReadLimits& limits, std::size_t max_mapped) {
  return std::make_shared<DatasetState>(
      std::make_shared<const DatasetFacts>(DatasetFacts::Source::Of(path), limits),
      ShardTable::Options{.max_mapped = max_mapped, .advice = MapAdvice::kNormal, .cache = {}});
}

std::shared_ptr<DatasetState> DatasetState::Open(std::shared_ptr<ObjectStore> store,
                                                 const ReadLimits& limits) {
  const std::filesystem::path url = store->url();
  return std::make_shared<DatasetState>(
      std::make_shared<const DatasetFacts>(DatasetFacts::Source{url, std::move(store)}, limits),
      ShardTable::Options());
}

std::shared_ptr<DatasetState> DatasetState::Mix(const Mixture& mixture) {
  const auto facts = std::make_shared<const DatasetFacts>(mixture);
  ShardTable::Options options;
  // If one of them does not keep all of its shards mapped, all of them together do not.
  for (const MixedDataset& part : facts->parts)
    options.max_mapped = std::min(options.max_mapped, part.dataset->table.max_mapped());
  return std::make_shared<DatasetState>(facts, options);
}

std::shared_ptr<DatasetState> DatasetState::WithOwnShards(
    MapAdvice advice, const std::optional<BlockCache>& cache) const {
  return std::make_shared<DatasetState>(
      facts,
      ShardTable::Options{.max_mapped = table.max_mapped(), .advice = advice, .cache = cache});
}

}  // namespace sluice
