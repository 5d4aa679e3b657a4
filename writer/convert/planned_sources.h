// The list of sources in a file: next to a plan, so that workers convert their parts without
// searching for the sources again; or as the index of a source that is played.
//
// This format is for Sluice alone: a version that does not know the file's content asks for a new
// plan. The file consists of zstd frames with checksums; their content is checked before it is
// used.
#pragma once

#include <filesystem>
#include <string>

#include <sluice/convert.h>

#include "writer/source/list/source_list.h"

namespace sluice {

inline constexpr const char* kPlannedSourcesName = "plan-sources.bin";

struct PlannedSources {
  SourceList list;
  // Options that the plan's digest does not cover.
  OnError on_error = OnError::kSkip;
  bool find_duplicates = false;
};

// Writes the file whole or not at all. Folders become absolute paths, so that workers may run
// anywhere. Throws Error(kIo), and Error(kUnsupported) for a source whose URL has a password or a
// query.
void WritePlannedSources(const std::filesystem::path& folder, const SourceList& list,
                         const ConvertOptions& options);

// Throws Error: kNotFound; kCorrupt if the file is damaged, or if a value does not fit its field.
PlannedSources ReadPlannedSources(const std::filesystem::path& folder);

// A list of sources that is kept by itself, in a file of the same format, so that a source which is
// played need not be searched again. It also has the sources' times (Source::changed).
struct SourceIndex {
  std::string head;  // a text of the caller's
  SourceList list;
};
// Writes the file whole or not at all. Throws Error(kIo), and kUnsupported as WritePlannedSources()
// does.
void WriteSourceIndex(const std::filesystem::path& file, const std::string& head,
                      const SourceList& list);
// Throws Error: kNotFound, kCorrupt. The list's root must still be set (SetRoot).
SourceIndex ReadSourceIndex(const std::filesystem::path& file);

}  // namespace sluice
