// Folders such as train/ and val/ that are not classes: how they are recognised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

// A folder that holds images, directly below the source.
struct TopFolder {
  std::string name;
  bool nested = false;  // some of its images lie in folders of its own
};

// "train", "Validation", "test2017"
bool IsSplitName(std::string_view name);

// Whether these folders look like the parts of a split. They do in three cases: there are several
// folders, all with a split's name; there is one folder, which has a split's name and contains
// folders; or at least two of the folders have a split's name, and one of these contains folders.
bool LookLikeSplit(const std::vector<TopFolder>& folders);

// "train/, val/ and 3 more"
std::string FolderNames(const std::vector<std::string>& names);

}  // namespace sluice
