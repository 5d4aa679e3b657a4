// The plan of a conversion: which sample goes to which shard, and what that depends on.
//
// It is written before anything else. A later run with the same digest goes on from it; whatever
// the digest covers may not differ. It covers the options that the bytes depend on, the versions of
// the libraries, and of each source its key, size, label and other values; not where the folders
// lie, threads or times.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

#include "format/disk/bytes.h"
#include "writer/source/source_list.h"

namespace sluice {

struct Plan {
  Id128 digest;
  nlohmann::json inputs;  // what the digest covers, in words
  std::uint64_t samples = 0;
  // Planned; a shard may get fewer where sources are left out, and be split where they turn out
  // large.
  std::uint64_t shard_samples = 0;
  std::uint32_t block_samples = 0;

  std::uint64_t shards() const noexcept { return (samples + shard_samples - 1) / shard_samples; }
  std::uint64_t SamplesOf(std::uint64_t shard) const noexcept;
};

// At most so many samples are planned for a shard: bounds what a shard must say of sources left
// out.
inline constexpr std::uint64_t kMaxPlannedSamples = 65'536;

// Everything but the numbers of samples.
Plan BeginPlan(const SourceList& sources, const ConvertOptions& options);

// Sets the numbers of samples, for samples of `mean_bytes` in a shard.
void SettlePlan(const ConvertOptions& options, std::uint64_t mean_bytes, std::uint64_t header_bytes,
                Plan& plan);

// `paths`: the list that was converted, if it was one: it is kept for later runs, which need not be
// given it again.
std::string PlanToJson(const Plan& plan, const std::vector<std::string>& paths = {});

// The paths of an earlier plan's text; none if it has none, or cannot be read.
std::vector<std::string> PathsOfPlan(std::string_view text);

// Reads the numbers of samples from the text of an earlier plan. Throws Error(kExists), saying what
// differs, unless that plan's digest is this one's; kCorrupt if the text cannot be read. `file` is
// for messages.
void ResumePlan(std::string_view text, const std::string& file, Plan& plan);

// How the dataset was made, for its manifest.
std::string MadeJson(const Plan& plan);

// The dataset's name: the same wherever sources and dataset lie.
std::string DatasetName(const Plan& plan);

// Position in the dataset -> index of the source: permuted by the seed, or in the order of the
// keys.
std::vector<std::uint32_t> ConvertOrder(std::uint64_t samples, const ConvertOptions& options);

}  // namespace sluice
