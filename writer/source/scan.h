// The files of a source folder: which are images, and of which class.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

struct Source {
  std::string key;  // path relative to the source folder, with '/'; bytes as the system has them
  std::uint64_t bytes = 0;  // the file's size when it was looked at
  std::int32_t label = 0;   // the class's number; 0 in a flat folder
};

struct SourceList {
  bool labelled = false;
  std::vector<std::string>
      classes;                  // folder names in the order of their bytes, invalid UTF-8 escaped
  std::vector<Source> sources;  // JPEG and PNG files, in the order of their keys' bytes
  std::vector<LeftOut> broken;  // images of unsupported kinds, files that cannot be opened
  std::vector<LeftOut> passed_over;  // what is no image, or hidden
  std::vector<std::string> warnings;
};

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
SourceList ScanFolder(const std::filesystem::path& folder, unsigned threads,
                      const std::stop_token& stop);

// What is thrown when a stop was requested.
[[noreturn]] void ThrowStopped();

}  // namespace sluice
