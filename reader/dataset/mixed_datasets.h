// The datasets of a mixture as one: their schemas joined by name, their shards one after another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/mixture.h>

#include "format/disk/manifest.h"
#include "reader/dataset/mixed_dataset.h"

namespace sluice {

// What a DatasetState of them is made of.
struct MixedDatasets {
  // Throws Error(kInvalidArgument) for datasets that cannot be mixed, and names both.
  explicit MixedDatasets(const Mixture& mixture);

  std::vector<MixedDataset> datasets;
  std::optional<MixtureRule> rule;  // none: without weights
  Manifest manifest;
  ReadLimits limits;  // no tighter than any dataset's
  std::string name;   // for messages
  std::string id;
};

}  // namespace sluice
