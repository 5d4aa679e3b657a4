// Turns paths in a table or a list into keys: paths relative to the source's root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class RootPath {
 public:
  // An empty root means the working folder. It may be a URL: paths may then begin with it.
  explicit RootPath(const std::filesystem::path& root);

  // "./a//b.jpg" and "/root/a/b.jpg" give "a/b.jpg"; nullopt if the path is not below the root, or
  // is the root itself. Symbolic links are not resolved.
  std::optional<std::string> KeyOf(std::string_view path) const;

 private:
  std::filesystem::path root_;  // absolute, without "." and ".."
  std::string url_;             // with a slash at its end; empty: a folder
};

}  // namespace sluice
