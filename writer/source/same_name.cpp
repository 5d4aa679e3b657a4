#include "writer/source/same_name.h"

#include "writer/text.h"

namespace sluice {

void SameNames::Resolve(std::string& key, Look& look) {
  std::error_code ignored;
  if (look.trouble.empty() || std::filesystem::exists(root_ / key, ignored)) return;
  const std::filesystem::path path(key);
  const Names& names = NamesIn(path.parent_path().native());
  std::vector<std::pair<std::string, Look>> found;
  const auto [begin, end] = names.equal_range(path.filename().native());
  for (auto name = begin; name != end; ++name) {
    std::string other = (path.parent_path() / name->second).native();
    Look its = LookInto(root_ / other);
    if (its.trouble.empty() && its.sniffed.kind != ImageKind::kNone) {
      found.emplace_back(std::move(other), std::move(its));
    }
  }
  if (found.empty()) return;
  if (found.size() > 1) {
    look.trouble = "is not there; give the ending: " + ToUtf8(found[0].first) + " or " +
                   ToUtf8(found[1].first);
    return;
  }
  if (resolved_++ == 0) example_ = ToUtf8(key) + ", which is " + ToUtf8(found[0].first);
  key = std::move(found[0].first);
  look = std::move(found[0].second);
}

std::string SameNames::Report() const {
  if (resolved_ == 0) return {};
  return (resolved_ == 1 ? "a path has" : std::to_string(resolved_) + " paths have") +
         " no ending, such as " + example_;
}

const SameNames::Names& SameNames::NamesIn(const std::string& folder) {
  const auto [known, added] = folders_.try_emplace(folder);
  if (!added) return known->second;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_ / folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && dot > 0) known->second.emplace(name.substr(0, dot), name);
  }
  return known->second;
}

}  // namespace sluice
