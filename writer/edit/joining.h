// Joining datasets: matching their labels by the names of classes, and finding samples that several
// of them have.
#pragma once

#include <stop_token>
#include <vector>

#include <sluice/schema.h>

#include "format/disk/block.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

// For each field, the new number of each class; empty if the numbers do not change.
using LabelMaps = std::vector<std::vector<std::int64_t>>;

// Adds to `merged` the classes of `other`'s labels, and the unknown members, that it lacks, and
// returns the new numbers of `other`'s classes. Classes are matched by name; if one list begins
// with the other, no number changes. Throws Error(kInvalidArgument) if classes must be matched by
// name, and a name stands twice in one of the lists. If the schemas differ in anything else, throws
// Error(kInvalidArgument) that names the difference. `name`: of the dataset with the schema
// `other`, for the message.
//
// The ids of categories (the attribute category_ids) stay if no class has two of them and each
// class has one. Otherwise the merged field has none, with a warning.
LabelMaps ReconcileClasses(const Schema& other, const std::string& name, Schema& merged,
                           std::vector<std::string>& warnings);

// Writes the new class numbers into a sample. A number that is not a class of `own` stays as it is;
// if it is a number of a class of `merged`, throws Error(kCorrupt). `own`: the schema of the
// sample's dataset, to which the maps belong. Throws Error(kUnsupported) for labels that cannot be
// mapped. Errors name neither file nor sample.
void MapLabels(const Schema& own, const Schema& merged, const LabelMaps& maps,
               EncodedSample& sample);

// Decompresses a variable-length field's content. Throws Error(kUnsupported), kCorrupt.
void InflateLabels(FieldValue& value);

bool IsIdentity(const LabelMaps& maps) noexcept;

struct SharedSamples {
  // For each dataset, in order, the numbers of its samples that an earlier dataset also has.
  std::vector<std::vector<std::uint64_t>> again;
  std::uint64_t count = 0;      // samples in `again`
  std::uint64_t same_keys = 0;  // samples with a key of an earlier dataset, but different content
  std::string key;              // of the first sample in `again`
  std::size_t dataset = 0;      // of that sample
};

// Finds samples that several datasets have, with the same key and the same content. Two samples
// have the same content if their entries in the blocks' tables are equal: the elements of array
// fields; the size, codec and checksum of payloads; the shape of images. Payloads are read only for
// labels whose classes differ from the merged ones in some dataset. Takes a few dozen bytes of
// memory for each sample. `maps` map the classes of `datasets` to those of `schema`.
SharedSamples FindSharedSamples(const std::vector<StoredDataset>& datasets,
                                const std::vector<LabelMaps>& maps, const Schema& schema,
                                const std::stop_token& stop);

}  // namespace sluice
