// The plan of a conversion: which sample goes to which shard, and what that depends on.
//
// The plan is written before anything else, and a later run with the same digest continues it. The
// digest covers the options that the bytes depend on, the versions of the libraries, and each
// source's key, size, label and other values. It does not cover the paths of folders, the number of
// threads, or times.
#pragma once

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

#include "format/disk/bytes.h"
#include "format/random.h"
#include "writer/source/list/source_list.h"

namespace sluice {

struct Plan {
  Id128 digest;
  nlohmann::json inputs;  // the input of the digest, in words
  // Whether boxes, masks and key points were drawn on upright images; and the member "values" of
  // `inputs` as it would be if the opposite were true (empty if there are no such annotations).
  bool drawn_upright = true;
  std::string values_drawn_otherwise;
  std::uint64_t samples = 0;
  // The number of samples planned for each shard; for the last it may be lower. A shard gets fewer
  // if sources are left out, and is split if samples turn out larger.
  std::uint64_t shard_samples = 0;
  std::uint32_t block_samples = 0;

  std::uint64_t shards() const noexcept { return (samples + shard_samples - 1) / shard_samples; }
  std::uint64_t SamplesOf(std::uint64_t shard) const noexcept;
};

// The sources and how they are converted: opened from the caller's source, or read from the files
// of a plan.
struct ConversionInput {
  SourceList sources;
  ConvertOptions options;
  Schema schema;
  Plan plan;  // from BeginPlan(), later completed by SettlePlan() or ResumePlan()
  std::vector<std::uint32_t> order;  // position in the dataset -> source

  // Throws Error if the fields do not make a schema.
  ConversionInput(SourceList all_sources, const ConvertOptions& all_options);
};

// The most samples planned for a shard. It bounds the shard's record of sources left out.
inline constexpr std::uint64_t kMaxPlannedSamples = 65'536;

// Makes the plan, except for its samples per shard and per block.
Plan BeginPlan(const SourceList& sources, const ConvertOptions& options);

// Sets the samples per shard and per block. `mean_bytes`: the mean size of a sample in a shard;
// `header_bytes`: the size of a shard's header.
void SettlePlan(const ConvertOptions& options, std::uint64_t mean_bytes, std::uint64_t header_bytes,
                Plan& plan);

// `paths`: the list of paths that was converted, if there was one. The plan keeps the list, so that
// later runs need not be given it again.
std::string PlanToJson(const Plan& plan, const std::vector<std::string>& paths = {});

// The list of paths in an earlier plan's text; empty if it has none or cannot be read.
std::vector<std::string> PathsOfPlan(std::string_view text);

// Reads the samples per shard and per block from an earlier plan's text. Throws Error(kExists),
// saying what differs, unless that plan has the same digest; kCorrupt if the text cannot be read.
// `file` is for messages.
void ResumePlan(std::string_view text, const std::string& file, Plan& plan);

// A plan as its text alone describes it, for callers that have no list of sources. Throws
// Error(kCorrupt); `file` is for messages.
struct PlanOutline {
  std::string digest;  // as text
  Plan plan;           // the numbers of samples
};
PlanOutline OutlineOfPlan(std::string_view text, const std::string& file);

// How the dataset was made, for its manifest.
std::string MadeJson(const Plan& plan);

// The numbers below `size` in an order that depends on `seed` and `stream` alone.
template <class Number>
std::vector<Number> Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream) {
  std::vector<Number> order(size);
  std::iota(order.begin(), order.end(), Number{0});
  // Fisher-Yates shuffle, from the end.
  RandomStream random(seed, Purpose::kConvertOrder, stream);
  for (std::uint64_t left = size; left > 1; --left)
    std::swap(order[left - 1], order[random.Below(left)]);
  return order;
}

// Position in the dataset -> index of the source: permuted by the seed, or in key order.
std::vector<std::uint32_t> ConvertOrder(std::uint64_t samples, const ConvertOptions& options);

}  // namespace sluice
