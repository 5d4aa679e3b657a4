// Adding up, from the samples, what the manifest says of bytes and variable-length fields.
#pragma once

#include <vector>

#include "format/disk/block.h"
#include "format/disk/manifest.h"

namespace sluice {

// Of no samples: an entry for each field that HasValues().
std::vector<ManifestValues> NoValues(const Schema& schema);

// Adds one payload. Of a zstd frame that nobody could read, nothing but that it is there.
void AddValue(Codec codec, Bytes payload, ManifestValues& values) noexcept;

// Adds the values of a block that can be found. Returns null, or what is wrong with the first of
// the others. The caller holds a guard.
Defect AddValues(const BlockView& block, const RowLayout& layout, const Schema& schema,
                 std::vector<ManifestValues>& values) noexcept;

}  // namespace sluice
