// Images in a folder, or at listed paths below one: the folders around them are their classes.
#pragma once

#include "writer/source/list/source_list.h"

namespace sluice {

// Adds the images of a source of Kind::kFolder or kPaths to a list whose root is open
// (SourceList::SetRoot), on `threads` threads. Errors: kInvalidArgument (a layout that could be
// meant in two ways; a class that is not one of the given ones), kNotFound (no image), kIo, kState
// (stopped).
SourceList ReadFolder(const ConvertSource& source, SourceList list, unsigned threads,
                      const ConvertHooks& hooks);

}  // namespace sluice
