// Paths that a table or a list names, as keys: relative to the source's root.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class RootPath {
 public:
  // An empty root is the working folder.
  explicit RootPath(const std::filesystem::path& root);

  // "./a//b.jpg" and "/root/a/b.jpg" are "a/b.jpg"; nullopt for what does not lie below the root,
  // or is the root itself. Links are not looked at.
  std::optional<std::string> KeyOf(std::string_view path) const;

 private:
  std::filesystem::path root_;  // absolute, without "." and ".."
};

}  // namespace sluice
