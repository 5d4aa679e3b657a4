// The plan of a conversion: which sample goes to which shard, and what that depends on.
//
// The plan is written before anything else, and a later run with the same digest continues it.
// Nothing that the digest covers may differ: the options that the bytes depend on, the versions of
// the libraries, and each source's key, size, label and other values. It does not cover where the
// folders are, threads or times.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include <sluice/convert.h>

#include "format/disk/bytes.h"
#include "writer/source/list/source_list.h"

namespace sluice {

struct Plan {
  Id128 digest;
  nlohmann::json inputs;  // the input of the digest, in words
  // Whether boxes, masks and key points were drawn on upright images, and "values" of `inputs` if
  // it were the other way; empty without any.
  bool drawn_upright = true;
  std::string values_drawn_otherwise;
  std::uint64_t samples = 0;
  // As planned. A shard may get fewer if sources are left out, and is split if they turn out
  // larger.
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
  Plan plan;                         // of BeginPlan(), until its numbers of samples are known
  std::vector<std::uint32_t> order;  // position in the dataset -> source

  // Throws Error if the fields do not make a schema.
  ConversionInput(SourceList all_sources, const ConvertOptions& all_options);
};

// The most samples planned for a shard. It bounds the shard's record of sources left out.
inline constexpr std::uint64_t kMaxPlannedSamples = 65'536;

// The plan without its numbers of samples.
Plan BeginPlan(const SourceList& sources, const ConvertOptions& options);

// Sets the numbers of samples, given `mean_bytes` for a sample in a shard.
void SettlePlan(const ConvertOptions& options, std::uint64_t mean_bytes, std::uint64_t header_bytes,
                Plan& plan);

// `paths`: the list that was converted, if there was one. It is kept so that later runs need not be
// given it again.
std::string PlanToJson(const Plan& plan, const std::vector<std::string>& paths = {});

// The list of paths in an earlier plan's text; empty if it has none or cannot be read.
std::vector<std::string> PathsOfPlan(std::string_view text);

// Reads the numbers of samples from an earlier plan's text. Throws Error(kExists), saying what
// differs, unless that plan has the same digest; kCorrupt if the text cannot be read. `file` is for
// messages.
void ResumePlan(std::string_view text, const std::string& file, Plan& plan);

// The text of a plan without its sources. Throws Error(kCorrupt); `file` is for messages.
struct PlanOutline {
  std::string digest;  // as text
  Plan plan;           // the numbers of samples
};
PlanOutline OutlineOfPlan(std::string_view text, const std::string& file);

// How the dataset was made, for its manifest.
std::string MadeJson(const Plan& plan);

// Position in the dataset -> index of the source: permuted by the seed, or in key order.
std::vector<std::uint32_t> ConvertOrder(std::uint64_t samples, const ConvertOptions& options);

inline constexpr const char* kPlannedSourcesName = "plan-sources.bin";

// A plan's list of sources, in a file beside the plan: workers convert their parts of it without
// looking for the sources again.
//
// This format is for Sluice alone: a version that does not know the file's content asks for a new
// plan. The file has frames of zstd with checksums, and their content is checked before it is used.
struct PlannedSources {
  SourceList list;
  // Options that the plan's digest does not cover.
  OnError on_error = OnError::kSkip;
  bool find_duplicates = false;
};

// Folders become absolute paths, so that workers may run anywhere. Atomic. Throws Error(kIo).
void WritePlannedSources(const std::filesystem::path& folder, const SourceList& list,
                         const ConvertOptions& options);

// Throws Error: kNotFound; kCorrupt (damaged, or its values are not what their fields take).
PlannedSources ReadPlannedSources(const std::filesystem::path& folder);

}  // namespace sluice
