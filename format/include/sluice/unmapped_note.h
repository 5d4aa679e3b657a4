// A note for users about a dataset on a file system that cannot map files.
#pragma once

#include <filesystem>
#include <string>

namespace sluice {

// Datasets are read by mapping their files. Where a file system refuses that (some FUSE and network
// file systems), they are read into memory instead, with the same results. Returns the sentence
// that says so for the dataset, finished or not, in the folder `dataset`: the folder's name, and
// what it costs. Empty if its files can be mapped, or if there is no dataset.
std::string UnmappedNote(const std::filesystem::path& dataset);

}  // namespace sluice
