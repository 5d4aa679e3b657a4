#include "writer/source/root_path.h"

namespace sluice {

RootPath::RootPath(const std::filesystem::path& root)
    : root_(std::filesystem::absolute(root.empty() ? "." : root).lexically_normal()) {
  if (!root_.has_filename()) root_ = root_.parent_path();  // "data/" is "data"
}

std::optional<std::string> RootPath::KeyOf(std::string_view path) const {
  if (path.empty()) return std::nullopt;
  const std::filesystem::path full = (root_ / path).lexically_normal();
  const std::filesystem::path key = full.lexically_relative(root_);
  if (key.empty() || key == "." || *key.begin() == ".." || !key.has_filename()) return std::nullopt;
  return key.native();
}

}  // namespace sluice
