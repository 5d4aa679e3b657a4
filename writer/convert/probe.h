// How large samples become: looked at before shards are planned.
#pragma once

#include <optional>
#include <stop_token>

#include "writer/convert/sample_encoder.h"

namespace sluice {

struct Probe {
  std::uint64_t samples = 0;     // that could be converted
  std::uint64_t mean_bytes = 0;  // of one in a shard; a guess where there is none
  // In the order of the dataset: those that could not, and those that end early and were taken.
  std::vector<LeftOut> left_out;
  std::vector<LeftOut> truncated;
  // Of the order's first samples, those that have room: what they became need not be made again.
  std::vector<std::optional<Outcome>> outcomes;
};

// Converts the first 64 samples of the order, on `threads` threads, and keeps up to 64 MiB of what
// comes. The same for any number of threads, but for what is kept.
Probe ProbeSizes(const SourceList& sources, const Schema& schema,
                 const std::vector<std::uint32_t>& order, const ConvertOptions& options,
                 unsigned threads, const std::stop_token& stop);

}  // namespace sluice
