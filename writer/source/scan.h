// The files of a source folder: which are images, and of which class.
#pragma once

#include <stop_token>

#include "writer/source/source_list.h"

namespace sluice {

// Walks the folder and looks into the beginning of each file, on `threads` threads.
//
// If the images are in sub-folders, the sub-folders of the top folder are the classes, and deeper
// images belong to the class at the top, which is warned of. If the images are in the top folder
// itself, there are no classes. A folder with images in both places is refused, since either
// reading would be a guess; unless `source.labels` is false: then images may lie anywhere. Symbolic
// links are followed, except links to a folder that contains them. Names that begin with a dot are
// passed over.
//
// Errors: kNotFound (no such folder, or no image in it), kInvalidArgument (images in both places),
// kIo (a folder that cannot be read), kState (stopped).
//
// If `source.classes` names classes, a class that it does not name is an error as well.
SourceList ScanFolder(const ConvertSource& source, unsigned threads, const std::stop_token& stop);

// As above for a folder that held only `paths`, which lie below `source.root`. A path that lies
// elsewhere is an error that names its place in the list.
SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const std::stop_token& stop);

}  // namespace sluice
