// Masks in a folder of their own, under the names of their images.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Adds a field "mask" to a list of files: the mask of a/b.jpg is a/b.png below `folder`. Sources
// without a mask go to the list's broken ones.
void AddMaskFolder(const std::filesystem::path& folder, unsigned threads,
                   const std::stop_token& stop, SourceList& list);

}  // namespace sluice
