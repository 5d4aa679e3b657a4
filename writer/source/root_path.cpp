#include "writer/source/root_path.h"

#include "format/remote/object_store.h"

namespace sluice {

RootPath::RootPath(const std::filesystem::path& root) {
  if (IsStoreUrl(root.native())) {
    url_ = root.native();
    if (!url_.ends_with('/')) url_ += '/';
    root_ = "/";
    return;
  }
  root_ = std::filesystem::absolute(root.empty() ? "." : root).lexically_normal();
  if (!root_.has_filename()) root_ = root_.parent_path();  // "data/" is "data"
}

std::optional<std::string> RootPath::KeyOf(std::string_view path) const {
  if (!url_.empty()) {
    if (path.starts_with(url_)) path.remove_prefix(url_.size());
    if (path.starts_with('/') || IsStoreUrl(path)) return std::nullopt;
  }
  if (path.empty()) return std::nullopt;
  const std::filesystem::path full = (root_ / path).lexically_normal();
  const std::filesystem::path key = full.lexically_relative(root_);
  if (key.empty() || key == "." || *key.begin() == ".." || !key.has_filename()) return std::nullopt;
  return key.native();
}

}  // namespace sluice
