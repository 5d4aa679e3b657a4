// Samples that several datasets have: the same key and, once labels are reconciled, the same
// content.
#pragma once

#include <stop_token>

#include "writer/edit/label_maps.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

struct SharedSamples {
  // Of each dataset the numbers of its samples that one before it has as well, in order.
  std::vector<std::vector<std::uint64_t>> again;
  // And of each dataset the samples that those are the same as.
  std::vector<std::vector<std::uint64_t>> kept;
  std::uint64_t count = 0;      // of those that are there again
  std::uint64_t same_keys = 0;  // samples with a key of a dataset before, but another content
  std::string key;              // of the first sample that is there again
  std::size_t dataset = 0;      // which that lies in
};

// Contents are the same if what the blocks' tables say of them is: elements, and of payloads size,
// codec, checksum and, of images, shape. Payloads are not read, but for labels that have to be
// mapped. Memory: some dozen bytes a sample. `maps` are those of `datasets` into `schema`.
SharedSamples FindSharedSamples(const std::vector<StoredDataset>& datasets,
                                const std::vector<LabelMaps>& maps, const Schema& schema,
                                const std::stop_token& stop);

}  // namespace sluice
