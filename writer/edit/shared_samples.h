// Samples that several datasets have: the same key and, once labels are reconciled, the same
// content.
#pragma once

#include <stop_token>

#include "writer/edit/label_maps.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

struct SharedSamples {
  // For each dataset, the numbers of its samples that an earlier one has as well, in order.
  std::vector<std::vector<std::uint64_t>> again;
  std::uint64_t count = 0;      // samples in `again`
  std::uint64_t same_keys = 0;  // samples with a key of an earlier dataset, but other content
  std::string key;              // of the first sample in `again`
  std::size_t dataset = 0;      // of that sample
};

// Contents are the same if their entries in the blocks' tables are: elements, and for payloads
// size, codec, checksum and, for images, shape. Payloads are read only for labels that must be
// mapped. Memory: some dozen bytes a sample. `maps` are those of `datasets` into `schema`.
SharedSamples FindSharedSamples(const std::vector<StoredDataset>& datasets,
                                const std::vector<LabelMaps>& maps, const Schema& schema,
                                const std::stop_token& stop);

}  // namespace sluice
