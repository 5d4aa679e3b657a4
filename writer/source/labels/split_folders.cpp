// Folders train/, val/ and test/ at the top of a source are parts of a split and not classes.
// Taking them for classes would make a useless dataset without an error, so they are recognised by
// their names and by what they hold.
#include "writer/source/labels/split_folders.h"

#include <algorithm>
#include <array>

#include "format/ascii.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
#include "writer/source/list/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

// "train" for "Train-01" and "train_set"; empty if splits do not have such names.
std::string SplitWord(std::string_view name) {
  constexpr std::string_view kSet = "set", kBehind = "0123456789-_";
  std::string word = LowerCase(name.substr(0, name.find_last_not_of(kBehind) + 1));
  if (word.ends_with(kSet) && word.size() > kSet.size()) {
    word.resize(word.size() - kSet.size());
    word.resize(word.find_last_not_of(kBehind) + 1);
  }
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
  constexpr std::size_t kMaxNamed = 3;
  std::string text;
  const std::size_t named = names.size() > kMaxNamed ? kMaxNamed - 1 : names.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += ToUtf8(names[i]) + "/";
  }
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + " more";
  return text;
}

namespace {

// Whether the folder holds images, and in `found.nested`, whether some of them lie in its
// sub-folders. Opens only as many files as needed.
bool FolderHoldsImages(const std::filesystem::path& folder, bool follow_links, TopFolder& found,
                       const std::stop_token& stop) {
  bool any = false;
  const FolderTree tree = WalkFolder(folder, {follow_links}, stop);
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

SplitFolders FindSplitFolders(const std::filesystem::path& root, const SplitFolderOptions& options,
                              const std::stop_token& stop) {
  FolderTree top = WalkFolder(
      root, {.follow_links = options.follow_links, .enter = false, .files = options.of_any_name},
      stop);
  SplitFolders found{{}, std::move(top.warnings)};
  // Most sources have class folders instead; this spares walking them.
  if (!options.of_any_name && std::none_of(top.folders.begin(), top.folders.end(), IsSplitName))
    return found;
  std::vector<TopFolder> folders;
  for (const std::string& name : top.folders) {
    TopFolder folder{name};
    if (FolderHoldsImages(root / name, options.follow_links, folder, stop))
      folders.push_back(std::move(folder));
  }
  if (!options.of_any_name && !LookLikeSplit(folders)) return found;
  for (TopFolder& folder : folders)
    found.names.push_back(std::move(folder.name));
  if (found.names.empty() || !options.of_any_name) return found;
  std::erase_if(top.files, [&](const WalkedFile& file) {
    if (stop.stop_requested()) ThrowStopped();
    return LookInto(root / file.key).sniffed.kind == ImageKind::kNone;
  });
  if (!top.files.empty()) {
    const bool one = top.files.size() == 1;
    found.warnings.push_back(std::to_string(top.files.size()) +
                             (one ? " image lies" : " images lie") +
                             " in none of the folders of parts and " + (one ? "is" : "are") +
                             " left out, such as " + ToUtf8(top.files.front().key));
  }
  return found;
}

}  // namespace sluice
