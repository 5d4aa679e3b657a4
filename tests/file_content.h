// Reads whole files.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::test {

// The file's content; empty if there is no such file.
std::string ContentOf(const std::filesystem::path& file);

}  // namespace sluice::test
