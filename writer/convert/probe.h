// Learns how large samples become, by converting some of them before shards are planned.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// How large samples become, measured before shards are planned.
struct Probe {
  std::uint64_t samples = 0;     // samples that could be converted
  std::uint64_t mean_bytes = 0;  // of a sample in a shard; a guess if none could be converted
  // In the order of the dataset: the samples that could not be converted, and those taken although
  // they end early.
  std::vector<LeftOut> left_out;
  std::vector<LeftOut> truncated;
  NotedPositions turned;  // as ConvertSummary::turned
  NotedPositions dim;     // as ConvertSummary::dim
  // Outcomes of the order's first samples, as many as there is room for: they need not be made
  // again.
  std::vector<std::optional<Outcome>> outcomes;
};

// Converts the first 64 samples of the order, on `threads` threads, and keeps up to 64 MiB of the
// outcomes. The result is the same for any number of threads, except for which outcomes are kept.
Probe ProbeSizes(const ConversionInput& input, unsigned threads, const std::stop_token& stop);

// Adds to the summary of a dry run what is planned, and estimates from the probed samples.
void SummarizeProbe(const ConversionInput& input, const Probe& probe, ConvertSummary& summary);

}  // namespace sluice
