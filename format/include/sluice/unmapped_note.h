// A note to users whose dataset lies on a file system that cannot map files.
#pragma once

#include <filesystem>
#include <string>

namespace sluice {

// Sluice reads datasets by mapping their files. Some file systems (FUSE and network file systems)
// cannot map files; Sluice then reads the files into memory, with the same results. For a dataset
// on such a file system, finished or not, returns a sentence for the user that names the folder and
// what reading into memory costs. Returns an empty string if the files can be mapped, or if
// `dataset` is not a dataset.
std::string UnmappedNote(const std::filesystem::path& dataset);

}  // namespace sluice
