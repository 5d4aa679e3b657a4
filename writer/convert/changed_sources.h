// Finds sources that changed since their samples were made.
//
// A plan records the names and sizes of its sources, but not their contents: if an image is
// replaced by another one of the same size, the plan stays the same. So when a conversion resumes
// or is repeated, the times of the files decide: a source that changed after the plan's time is
// converted again, and the result is compared with the sample in the shard. A sample depends on its
// source and the options alone. If both samples are equal, the file was only touched, moved or
// copied, and nothing needs to be done. A few samples are always compared: times do not show that a
// folder with the same names and sizes is another source. If one of them differs, all are compared.
// Plans, shards and manifests hold no times, so they have the same bytes wherever the sources lie.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/sample_encoder.h"

namespace sluice {

// Sets the plan's time, which is the modification time of plan.json. A source that has not changed
// since then holds what its sample was made from. When the time is set, no source has a later one.
void SetPlanTime(const std::filesystem::path& folder, const std::timespec& when);
// Returns the plan's time for sources whose contents have not been read yet.
std::timespec PlanTimeOf(const SourceList& sources, unsigned threads, const std::stop_token& stop);

// Whether none of the sources of a planned shard changed after `time`, the time of a plan. If so, a
// shard of that plan has the samples that the sources give now.
bool UnchangedSince(const std::timespec& time, const ConversionInput& of, std::uint32_t shard);

// Whether the position's source gives another sample now than `files` has, its planned shard. False
// if the source cannot be read.
bool HasChanged(const ConversionInput& of, SampleEncoder& encoder, const MadeFiles& files,
                std::uint64_t position);

struct ChangedSources {
  std::uint64_t compared = 0;  // sources that were converted again
  // Positions of the sources whose new samples differ from the stored ones.
  std::vector<std::uint64_t> positions;
  std::timespec plan_time{};  // the plan's new time, if `made` has all shards that exist
};

// Checks the sources of the shards in `made` (indexed by planned shard) whose files are in the
// folder, in the way that ConvertOptions::run.check selects. A source that is gone or cannot be
// read counts as unchanged; so does an object whose time is unknown: its store reports no times, or
// another process listed it. Throws Error; kState after a stop request.
ChangedSources FindChangedSources(const ConversionInput& of, const std::filesystem::path& folder,
                                  const std::vector<std::optional<MadeShard>>& made,
                                  unsigned threads, const ConvertHooks& hooks);

}  // namespace sluice
