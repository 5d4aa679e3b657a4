#include "writer/source/split_folders.h"

#include <algorithm>
#include <array>

#include <sluice/convert.h>

#include "writer/source/folder_walk.h"
#include "writer/source/look.h"
#include "writer/text.h"

namespace sluice {

namespace {

// "train" of "Train-01"; empty if it is no name that splits have.
std::string SplitWord(std::string_view name) {
  std::string word(name.substr(0, name.find_last_not_of("0123456789-_") + 1));
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array<std::string_view, 9> kNames = {
      "train", "training", "val", "valid", "validation", "dev", "eval", "test", "testing"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end() ? word : "";
}

}  // namespace

bool IsSplitName(std::string_view name) {
  return !SplitWord(name).empty();
}

bool LookLikeSplit(const std::vector<TopFolder>& folders) {
  std::size_t named = 0;
  bool nested = false;
  for (const TopFolder& folder : folders) {
    if (!IsSplitName(folder.name)) continue;
    ++named;
    nested = nested || folder.nested;
  }
  if (named == folders.size()) return named > 1 || nested;
  return named > 1 && nested;
}

std::string FolderNames(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  const std::size_t named = names.size() > kMostNamed ? kMostNamed - 1 : names.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += ToUtf8(names[i]) + "/";
  }
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + " more";
  return text;
}

namespace {

// Looks at no more files than it takes to find one image, and one in a folder below.
bool HoldsImages(const std::filesystem::path& folder, TopFolder& found,
                 const std::stop_token& stop) {
  bool any = false;
  const FolderTree tree = WalkFolder(folder, false, stop);
  for (const WalkedFile& file : tree.files) {
    const bool nested = file.key.find('/') != std::string::npos;
    if (any && !nested) continue;
    if (stop.stop_requested()) ThrowStopped();
    if (LookInto(folder / file.key).sniffed.kind == ImageKind::kNone) continue;
    any = true;
    found.nested = nested;
    if (nested) break;
  }
  return any;
}

}  // namespace

std::string SplitOfFile(const std::filesystem::path& file) {
  constexpr std::string_view kBetween = "-_. 0123456789";
  const std::string name = file.filename().string();
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of(kBetween, begin), name.size());
    std::string split = SplitWord(std::string_view(name).substr(begin, end - begin));
    if (!split.empty()) return split;
    begin = end + 1;
  }
  return SplitWord(file.parent_path().filename().string());
}

std::vector<std::string> FindSplitFolders(const std::filesystem::path& root, bool of_any_name,
                                          const std::stop_token& stop) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    std::error_code ignored;
    if (!FindIgnoredPart(name + "/") && entry->is_directory(ignored)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  // Most sources have class folders: they are not walked twice.
  if (!of_any_name && std::none_of(names.begin(), names.end(), IsSplitName)) return {};
  std::vector<TopFolder> folders;
  for (const std::string& name : names) {
    TopFolder folder{name};
    if (HoldsImages(root / name, folder, stop)) folders.push_back(std::move(folder));
  }
  if (!of_any_name && !LookLikeSplit(folders)) return {};
  names.clear();
  for (TopFolder& folder : folders)
    names.push_back(std::move(folder.name));
  return names;
}

}  // namespace sluice
