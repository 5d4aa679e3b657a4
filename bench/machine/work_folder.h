// A folder that a command keeps from run to run, and in which it writes over what it finds.
#pragma once

#include <filesystem>

namespace sluice::bench {

// Makes the folder, or takes one that is empty or that an earlier run has made: a file in it says
// so. Throws Error(kState) for any other, since what is in it would be lost; Error(kIo).
void ClaimWorkFolder(const std::filesystem::path& folder);

}  // namespace sluice::bench
