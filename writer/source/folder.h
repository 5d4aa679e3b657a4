// The files of a source folder: which are images, and of which class.
#pragma once

#include <stop_token>

#include "writer/source/list/source_list.h"

namespace sluice {

// Walks the folder and looks into the beginning of each file, on `threads` threads.
//
// The classes are the folders that ConvertSource::label.folders names. With FolderLabels::kAuto
// they are the folders at the top, and none if the images lie in the root itself; images in both
// places and folders that look like the parts of a split are refused, and classes that hold folders
// of their own are warned of. With the others, an image in the root is left out as broken. Without
// labels, images may lie anywhere.
//
// Errors: kNotFound (no such folder, or no image in it), kInvalidArgument (unclear
// classes), kIo (a folder that cannot be read), kState (stopped).
//
// If `source.label.classes` names classes, a class that it does not name is an error as well.
SourceList ScanFolder(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks);

// As above for a folder that held only `paths`, which lie below `source.root`. A path that lies
// elsewhere is an error that names its place in the list.
SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const ConvertHooks& hooks);

}  // namespace sluice
