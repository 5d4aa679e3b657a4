// Paths that lead to the same place when the process has changed its working directory.
#pragma once

#include <filesystem>
#include <system_error>

namespace sluice {

// The path from the root, nothing else about it changed; as it is, where it is empty or the working
// directory is gone.
inline std::filesystem::path AbsolutePath(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error || path.empty() ? path : absolute;
}

}  // namespace sluice
