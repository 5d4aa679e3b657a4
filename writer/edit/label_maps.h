// Matches the labels of several datasets by the names of their classes.
#pragma once

#include <vector>

#include <sluice/schema.h>

#include "format/disk/block.h"

namespace sluice {

// For each field, the new number of each class; empty if the numbers do not change.
using LabelMaps = std::vector<std::vector<std::int64_t>>;

// Adds to `merged` the classes of `other`'s labels that it lacks, and returns the new numbers of
// `other`'s classes. If the schemas differ in anything else, throws Error(kInvalidArgument) that
// names the difference; `name` is the other dataset's.
LabelMaps ReconcileClasses(const Schema& other, const std::string& name, Schema& merged);

// Numbers of no class are not changed; one that would thereby become a merged class is
// Error(kCorrupt). `own`: the schema of the sample's dataset, which the maps belong to. Throws
// Error(kUnsupported) for labels that cannot be mapped. Errors name neither file nor sample.
void MapLabels(const Schema& own, const Schema& merged, const LabelMaps& maps,
               EncodedSample& sample);

// Decompresses a variable-length field's content. Throws Error(kUnsupported), kCorrupt.
void InflateLabels(FieldValue& value);

bool IsIdentity(const LabelMaps& maps) noexcept;

}  // namespace sluice
