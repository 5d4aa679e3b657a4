// Two things that people call a split.
//
// Folders: train/, val/ and test/ at the top of a source are parts of a split and not classes.
// Taking them for classes would make a useless dataset without an error, so they are recognised by
// their names and by what they hold.
//
// Parts: "the last 10% for validation" is chosen class by class, by a number that depends on the
// seed and the sample's key alone. So when others come or go, a sample stays in its part, unless it
// is near the part's border in the order of these numbers. If the samples of one patient, say, must
// stay together, the column with the patient takes the key's place, and classes no longer matter.
#include "writer/source/labels/splits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/checksum.h"
#include "format/random.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
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

namespace {

// A number that depends only on the seed and the digest of a key or value, so that a source stays
// in its part when others come or go (except at a part's border).
std::uint64_t PlaceOf(std::uint64_t seed, std::uint64_t digest) {
  return RandomStream(seed, Purpose::kSplit, digest).Word64();
}

// How many of a class's `count` sources come before the fraction. `turn` (0 to 1) is added before
// rounding down. It differs between classes, so that one class gains what another loses and the
// parts of many small classes together get the size that was asked for.
std::size_t Border(double fraction, std::size_t count, double turn) {
  return static_cast<std::size_t>(std::floor(fraction * static_cast<double>(count) + turn));
}

// 0.5, then steps of the golden section, which spread any number of classes evenly.
double NextTurn(double turn) {
  const double next = turn + 0.618033988749895;
  return next - std::floor(next);
}

// The sources of the part, class by class.
std::vector<std::size_t> TakenByClass(const SplitPart& split, const SourceList& list) {
  std::map<std::int32_t, std::vector<std::size_t>> of_class;
  std::vector<std::uint64_t> places(list.sources.size());
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    places[i] = PlaceOf(split.seed, Hash64(AsBytes(list.sources[i].key)));
    of_class[list.sources[i].label].push_back(i);
  }
  std::vector<std::size_t> taken;
  double turn = 0.5;
  for (auto& [label, members] : of_class) {
    std::stable_sort(members.begin(), members.end(),
                     [&places](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    const auto begin = static_cast<std::ptrdiff_t>(Border(split.begin, members.size(), turn));
    const auto end = static_cast<std::ptrdiff_t>(Border(split.end, members.size(), turn));
    turn = NextTurn(turn);
    taken.insert(taken.end(), members.begin() + begin, members.begin() + end);
  }
  return taken;
}

// The sources of the part. All sources with the same value of SplitPart::by stay together: the
// values lie on a line in the order of their places, each as long as it has sources, and the part
// has the values whose middle lies in it.
std::vector<std::size_t> TakenByValue(const SplitPart& split, const SourceList& list) {
  std::map<std::uint64_t, std::vector<std::size_t>> of_place;
  for (std::size_t i = 0; i < list.sources.size(); ++i)
    of_place[PlaceOf(split.seed, list.sources[i].split_value)].push_back(i);
  std::vector<std::size_t> taken;
  double before = 0;
  for (const auto& [place, members] : of_place) {
    const auto count = static_cast<double>(members.size());
    const double middle = (before + count / 2) / static_cast<double>(list.sources.size());
    before += count;
    if (middle < split.begin || middle >= split.end) continue;
    taken.insert(taken.end(), members.begin(), members.end());
  }
  return taken;
}

}  // namespace

void TakeSplit(const ConvertSource& source, SourceList& list) {
  const bool by_value = !source.split.by.empty();
  std::vector<std::size_t> taken =
      by_value ? TakenByValue(source.split, list) : TakenByClass(source.split, list);
  std::sort(taken.begin(), taken.end());
  if (taken.empty()) {
    throw Error(ErrorCode::kNotFound, list.root.string(),
                std::string(by_value ? "has too few values in the column \"" +
                                           ToUtf8(source.split.by) + "\""
                                     : "has too few images") +
                    ": a part of this split would get none");
  }
  std::vector<Source> sources;
  SourceValues values;
  for (const std::size_t i : taken) {
    for (std::size_t f = 0; f < list.fields.size() && !list.values.empty(); ++f)
      values.Add(list.Value(i, f));
    sources.push_back(std::move(list.sources[i]));
  }
  list.sources = std::move(sources);
  list.values = std::move(values);
  if (source.split.begin == 0) return;  // only this part lists the faulty sources of all parts
  list.broken.clear();
  list.passed_over.clear();
}

}  // namespace sluice
