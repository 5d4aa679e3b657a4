// What is known of a shard once it is written: its line of the manifest, and what it adds to the
// totals.
#pragma once

#include <filesystem>

#include <sluice/schema.h>

#include "format/disk/manifest.h"
#include "format/disk/shard.h"

namespace sluice {

struct FinishedShard {
  ManifestShard shard;
  std::vector<ManifestImages> images;       // one for each image field, in the schema's order
  std::vector<ManifestValues> values;       // one for each field that HasValues()
  std::vector<std::uint64_t> class_counts;  // of the field that ClassField() names
};

// The field whose classes are counted: the first scalar label with classes and integer elements, or
// Schema::kNone.
std::size_t ClassField(const Schema& schema) noexcept;

// The class that the elements of the field ClassField() name; may be out of range.
std::int64_t ClassNumber(const Field& field, Bytes element) noexcept;

// Totals of nothing, with the right number of entries.
FinishedShard EmptyTotals(const Schema& schema);

// Adds a shard's line and totals. `manifest` was begun by BeginManifest().
void AddShard(const FinishedShard& finished, Manifest& manifest);

// A manifest with a schema and without shards.
Manifest BeginManifest(const std::string& name, const Schema& schema);

// Gathers the same from a shard on disk, whose tables are verified on the way. Throws Error.
FinishedShard SurveyShard(const ShardFile& shard, const std::string& file_name);

}  // namespace sluice
