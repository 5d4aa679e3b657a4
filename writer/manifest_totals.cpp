#include "writer/manifest_totals.h"

#include <utility>

namespace sluice {

Manifest BeginManifest(const std::string& name, const Schema& schema) {
  FinishedShard totals = EmptyTotals(schema);
  Manifest manifest;
  manifest.name = name;
  manifest.schema = schema;
  manifest.images = std::move(totals.images);
  manifest.values = std::move(totals.values);
  manifest.class_counts = std::move(totals.class_counts);
  return manifest;
}

void AddShard(const FinishedShard& finished, Manifest& manifest) {
  manifest.samples += finished.shard.samples;
  for (std::size_t i = 0; i < manifest.images.size(); ++i) {
    manifest.images[i].Add(finished.images[i]);
  }
  // None if the manifest is an older one without values.
  for (std::size_t i = 0; i < manifest.values.size(); ++i)
    manifest.values[i].Add(finished.values[i]);
  for (std::size_t i = 0; i < manifest.class_counts.size(); ++i) {
    manifest.class_counts[i] += finished.class_counts[i];
  }
  manifest.shards.push_back(finished.shard);
}

}  // namespace sluice
