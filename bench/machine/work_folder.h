// A folder that a command keeps from run to run and whose files it overwrites.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::bench {

// Makes the folder, or takes one that is empty or that an earlier run made: a file in it says so.
// Throws Error(kState) for any other folder, since its content would be lost; Error(kIo).
void ClaimWorkFolder(const std::filesystem::path& folder);

// What is wrong with the value of --work as a folder's name, for CLI11; empty: nothing.
std::string CheckWorkFolder(const std::string& folder);

}  // namespace sluice::bench
