// Timing ways of decoding beside each other.
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

// Every k-th JPEG of the dataset, up to `count`, each with the region that the transform (and a
// flip of half of them) draws for it. Reads them, so that they are in memory. With `both_forms`
// packed images, too, as the JPEGs they stand for, and JPEGs packed as well. Throws cli::UsageError
// where the transform leaves a border, Error(kUnsupported) where there is no JPEG.
std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms = false);

// All ways in turn, on this thread, after a round that is not counted. Throws Interrupted.
std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop);

// What each stage (DecodeStages()) adds to the one before it, in milliseconds a picture: medians
// over rounds.
std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages);

}  // namespace sluice::bench
