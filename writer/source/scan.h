// The files of a source folder: which are images, and of which class.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Walks the folder and looks into the beginning of each file, on `threads` threads.
//
// Sub-folders of the top one are classes, where the images lie in them, and what lies deeper
// belongs to the class at the top. Where the images lie in the top folder itself there are no
// classes. A folder that has images in both places is refused, since either reading would be a
// guess. Symbolic links are followed, except those to a folder that they lie in. Names that begin
// with a dot are passed over.
//
// Errors: kNotFound (no such folder, or no image in it), kInvalidArgument (images in both places),
// kIo (a folder that cannot be read), kState (stopped).
//
// A class that `source.classes` does not name, where it names any, is an error as well.
SourceList ScanFolder(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

// The same for the folder that would hold only `paths`, which lie below `source.root`; a path that
// does not is an error that tells its place in the list.
SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const std::stop_token& stop);

}  // namespace sluice
