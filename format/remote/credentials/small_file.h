// Files of settings.
#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace sluice {

// The file's content; nothing if it cannot be read or is longer than `limit` bytes.
inline std::optional<std::string> ReadSmallFile(const std::string& path, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::string text(limit + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof())
    return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace sluice
