// Writes a file whole: one that is there stays until then, and no other is touched.
#pragma once

#include <filesystem>
#include <string_view>

namespace sluice::cli {

// Of a link, the file that it leads to is written; a pipe or a device gets the text. Throws
// Error(kIo).
void WriteWholeFile(const std::filesystem::path& path, std::string_view text);

}  // namespace sluice::cli
