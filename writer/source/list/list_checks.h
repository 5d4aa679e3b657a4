// Checks of a list that is complete: it has images, and names each once.
#pragma once

#include <filesystem>
#include <string>

#include "writer/source/list/source_list.h"

namespace sluice {

// Throws Error(kNotFound) if there is nothing to convert; `place` is where images were looked for.
void RequireImages(const std::filesystem::path& place, const SourceList& list);

// Adds a warning if a list or a table names an image more than once.
void WarnOfRepeats(SourceList& list, const std::string& advice = {});

}  // namespace sluice
