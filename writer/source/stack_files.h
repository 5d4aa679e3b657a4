// Samples whose channels lie in a file each (FormOptions::stack).
#pragma once

#include <string>
#include <vector>

#include "writer/source/list/source_list.h"

namespace sluice {

// Joins the files of a list, NAME_B02.tif and NAME_B03.tif for the channels B02 and B03, to
// sources: the first channel's file is the image, and its value names the others (StackFilesOf()).
// The sample's key is NAME. Samples without one of the files are moved to list.broken, and files of
// no channel to list.passed_over. Throws Error(kNotFound) if nothing is left.
void StackFiles(const std::vector<std::string>& channels, SourceList& list);

}  // namespace sluice
