// Times ways of decoding side by side.
#pragma once

#include <sluice/transform.h>

#include "bench/decode/task.h"
#include "bench/report/interrupted.h"

namespace sluice::bench {

struct DecodeFigures {
  std::string name, description;
  std::vector<double> milliseconds;  // a picture, by round
  double decibels = 0;               // 0: not measured
};

// Every k-th JPEG of the dataset, up to `count`, each with the region that the transform draws for
// it (and a flip for half of them). Reads them, so that they are in memory. With `both_forms`: also
// packed images, as the JPEGs they were made from, and each JPEG packed as well. Throws
// cli::UsageError if the transform leaves a border, Error(kUnsupported) if there is no JPEG.
std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms = false);

// Runs all ways in turn, on this thread; a first round is not counted. Throws Interrupted.
std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop);

// The milliseconds a picture that each stage (DecodeStages()) adds to the stage before it: medians
// over rounds.
std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages);

}  // namespace sluice::bench
