// A plan's list of sources, in a file beside the plan: workers convert their parts of it without
// looking for the sources again.
//
// No format to build on: a version that does not know what is there asks for a new plan. Frames of
// zstd with checksums; what they say is checked before it is used.
#pragma once

#include <filesystem>

#include "writer/source/list/source_list.h"

namespace sluice {

inline constexpr const char* kPlannedSourcesName = "plan-sources.bin";

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
