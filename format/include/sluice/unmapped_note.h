// A note for users about a dataset on a file system that cannot map files.
#pragma once

#include <filesystem>
#include <string>

namespace sluice {

// Datasets are read by mapping their files. If a file system refuses that (some FUSE and network
// file systems do), they are read into memory instead, with the same results. Returns the sentence
// that says so for the dataset, finished or not, in the folder `dataset`: it names the folder, and
// says what reading into memory costs. Empty if its files can be mapped, or if there is no dataset.
std::string UnmappedNote(const std::filesystem::path& dataset);

}  // namespace sluice
