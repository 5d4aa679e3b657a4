// One dataset of a mixture, as the mixture sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <sluice/mixture.h>

#include "format/disk/row_layout.h"
#include "reader/dataset/value_limits.h"

namespace sluice {

struct DatasetState;

// How the datasets of a mixture with weights are played.
struct MixtureRule {
  std::vector<double> weights;
  MixtureShares shares = MixtureShares::kOfSamples;
  MixtureLength length = MixtureLength::kFirst;
  std::uint64_t samples = 0;
};

// A dataset of a mixture.
struct MixedDataset {
  std::shared_ptr<DatasetState> dataset;
  std::uint32_t first_shard = 0;  // among those of all
  std::uint64_t first_sample = 0;
  // By field of the mixture's schema.
  RowLayout layout;
  ValueLimits limits;
};

}  // namespace sluice
