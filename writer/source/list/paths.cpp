// Resolve() guesses from the likeliest to the least likely: the path with slashes, names that are
// alike, names with another ending, and the path as seen from a folder above. A guess is taken only
// if the file exists and is an image by its content.
// TakeOneOf() also returns true if it takes nothing, because several images fit or because the list
// names the image itself: no later guess may then take another file. RootPath works on the texts
// alone and does not touch the disk, except to learn the working folder.
#include "writer/source/list/paths.h"

#include <algorithm>

#include "format/remote/object_store.h"
#include "writer/text.h"

namespace sluice {

std::filesystem::path NamedFolder(const std::filesystem::path& folder) {
  const std::filesystem::path path =
      std::filesystem::absolute(folder.empty() ? "." : folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::string AbsolutePlace(const std::filesystem::path& path) {
  if (path.empty() || IsStoreUrl(path.native())) return path.native();
  return std::filesystem::absolute(path).lexically_normal().string();
}

RootPath::RootPath(const SourceList& list)
    : root_(list.store != nullptr ? std::filesystem::path("/") : NamedFolder(list.root)) {
  if (list.store != nullptr)
    url_ = list.root.native() + (list.root.native().ends_with('/') ? "" : "/");
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

SameNames::SameNames(std::filesystem::path root, std::function<Paths()> listed)
    : root_(std::move(root)), below_(root_), files_(root_), list_(std::move(listed)) {
  constexpr int kMaxAbove = 3;
  std::filesystem::path folder = NamedFolder(root_);
  for (int up = 0; up < kMaxAbove; ++up) {
    folder = folder.parent_path();
    above_.push_back(folder);
  }
}

void SameNames::Resolve(std::string& key, Look& look) {
  std::error_code ignored;
  if (look.trouble.empty() || std::filesystem::exists(root_ / key, ignored)) return;
  if (!listed_) listed_ = list_();
  std::vector<std::string> forms = {key};
  if (key.find('\\') != std::string::npos) {
    std::string slashed = key;
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    if (const std::optional<std::string> below = below_.KeyOf(slashed)) {
      if (TakeIfImage(*below, key, look)) return;
      forms.push_back(*below);
    }
  }
  for (const std::string& form : forms) {
    if (TakeAlike(form, key, look)) return;
    for (const std::filesystem::path& folder : above_) {
      const std::optional<std::string> below = below_.KeyOf((folder / form).native());
      if (!below) continue;
      if (TakeIfImage(*below, key, look) || TakeAlike(*below, key, look)) return;
    }
  }
  if (!IsImageName(key))
    look.trouble = "does not exist, and neither does an image with an ending added";
}

bool SameNames::TakeIfImage(std::string other, std::string& key, Look& look) {
  Look its = LookInto(root_ / other);
  if (!its.trouble.empty() || its.sniffed.kind == ImageKind::kNone) return false;
  Take(std::move(other), std::move(its), key, look);
  return true;
}

void SameNames::Take(std::string other, Look its, std::string& key, Look& look) {
  taken_.Add(key, other);
  key = std::move(other);
  look = std::move(its);
}

// Looks for images whose path is similar to `wanted`, and takes the only one. Returns whether there
// is any.
bool SameNames::TakeAlike(const std::string& wanted, std::string& key, Look& look) {
  if (TakeOneOf(files_.Like(wanted), key, look)) return true;
  if (TakeOneOf(files_.WithEnding(wanted), key, look)) return true;
  const std::filesystem::path path(wanted);
  return IsImageName(wanted) &&
         TakeOneOf(files_.WithEnding((path.parent_path() / path.stem()).native()), key, look);
}

// Takes the only image among the paths, unless the list names it itself; if there are several,
// `look` says so. Returns whether there is any.
bool SameNames::TakeOneOf(const std::vector<std::string>& paths, std::string& key, Look& look) {
  std::vector<std::pair<std::string, Look>> found;
  for (const std::string& other : paths) {
    Look its = LookInto(root_ / other);
    if (its.trouble.empty() && its.sniffed.kind != ImageKind::kNone)
      found.emplace_back(other, std::move(its));
  }
  if (found.size() > 1) {
    look.trouble = "may be " + ToUtf8(found[0].first) + " or " + ToUtf8(found[1].first) +
                   "; give the path with its ending (a VOC file gives it in <filename>)";
  } else if (!found.empty() && !listed_->contains(found[0].first)) {
    Take(std::move(found[0].first), std::move(found[0].second), key, look);
  }
  return !found.empty();
}

void TakenForOthers::Add(const std::string& path, const std::string& other) {
  if (count_++ > 0) return;
  example_ = ToUtf8(path) + ", which is " + ToUtf8(other);
  if (path != other && Decomposed(path) == Decomposed(other))
    example_ += " (the same letters, but an accent is a character of its own in one of them)";
}

std::string TakenForOthers::Report() const {
  if (count_ == 0) return {};
  if (count_ == 1)
    return "a path does not exist as written, and was taken for another: " + example_;
  return std::to_string(count_) +
         " paths do not exist as written, and were taken for others, such as " + example_;
}

}  // namespace sluice
