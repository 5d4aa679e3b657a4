// Paths that stay valid when the process changes its working directory.
#pragma once

#include <filesystem>
#include <system_error>

namespace sluice {

// The path made absolute and otherwise unchanged; as given, if it is empty or the working directory
// is gone.
inline std::filesystem::path AbsolutePath(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error || path.empty() ? path : absolute;
}

}  // namespace sluice
