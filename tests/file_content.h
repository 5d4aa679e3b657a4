// Reads a whole file.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::test {

// Empty if there is no such file.
std::string ContentOf(const std::filesystem::path& file);

}  // namespace sluice::test
