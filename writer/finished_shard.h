// A shard's facts once it is written: its line of the manifest, and its share of the totals.
#pragma once

#include <filesystem>

#include <sluice/schema.h>

#include "format/disk/manifest.h"
#include "format/disk/row_layout.h"
#include "format/disk/shard.h"

namespace sluice {

struct FinishedShard {
  ManifestShard shard;
  std::vector<ManifestImages> images;       // one for each image field, in the schema's order
  std::vector<ManifestValues> values;       // one for each field that HasValues()
  std::vector<std::uint64_t> class_counts;  // of Schema::ClassField()
};

// Totals of zero, with the right number of entries.
FinishedShard EmptyTotals(const Schema& schema);

// Counts a sample by its value of Schema::ClassField(). If its number is that of no class (in a
// damaged or forged dataset), it is not counted.
void CountClass(const Field& field, Bytes element, FinishedShard& finished) noexcept;

// Gathers the same from a shard on disk, and verifies its tables on the way. Throws Error.
FinishedShard SurveyShard(const ShardFile& shard, const std::string& file_name);

}  // namespace sluice
