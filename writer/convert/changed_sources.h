// Finds sources that changed since their samples were made.
//
// A plan knows the names and sizes of its sources, and not what they hold: an image that is
// replaced by one of the same size makes the same plan. So when a conversion resumes, or is
// repeated, times tell: a source that changed after the plan's time is converted once more, and the
// sample is compared with the one in its shard. A conversion depends on its sources and options
// alone, so equal samples mean that nothing is to be done: the file was only touched, moved or
// copied. Plans, shards and manifests hold no times: they have the same bytes wherever
// the sources lie.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// When a plan's sources were last known to be what its samples are made of: the time of plan.json.
// No source had a later time of change then.
void SetPlanTime(const std::filesystem::path& folder, const std::timespec& when);
// That time for sources whose contents have not been read yet.
std::timespec PlanTimeOf(const SourceList& sources, unsigned threads, const std::stop_token& stop);

struct ChangedSources {
  std::uint64_t compared = 0;            // sources that were converted once more
  std::vector<std::uint64_t> positions;  // of those whose samples are not those made before
  std::timespec plan_time{};             // for a plan of which nothing else is made
};

// Looks at the sources of the shards that are made (by planned shard) and lie in the folder, as
// ConvertOptions::run.check says. A source that is gone or cannot be read counts as unchanged; so
// does an object whose store does not tell times, or that another process has looked at. Throws
// Error; kState after a stop request.
ChangedSources FindChangedSources(const ConversionInput& of, const std::filesystem::path& folder,
                                  const std::vector<std::optional<MadeShard>>& made,
                                  unsigned threads, const ConvertHooks& hooks);

}  // namespace sluice
