// Labels of several datasets reconciled by the names of their classes.
#pragma once

#include <vector>

#include <sluice/schema.h>

#include "format/disk/block.h"

namespace sluice {

// For each field the new class of each class; empty where numbers stay.
using LabelMaps = std::vector<std::vector<std::int64_t>>;

// `merged` gets the classes of `other`'s labels that it lacks. Returns what becomes of `other`'s
// numbers. Throws Error(kInvalidArgument), saying what differs, unless the two agree in everything
// else; `name` is the other dataset's.
LabelMaps ReconcileClasses(const Schema& other, const std::string& name, Schema& merged);

// Numbers that are no class stay; one that would become a merged class by that is
// Error(kCorrupt). `own`: the schema of the dataset that the sample and the maps are of.
// Throws Error(kUnsupported) for labels that cannot be mapped. Errors name neither file nor sample.
void MapLabels(const Schema& own, const Schema& merged, const LabelMaps& maps,
               EncodedSample& sample);

// A variable field's content, uncompressed. Throws Error(kUnsupported), kCorrupt.
void InflateLabels(FieldValue& value);

bool IsIdentity(const LabelMaps& maps) noexcept;

}  // namespace sluice
