// One command, several datasets: finds the datasets that a command line makes, the source of each,
// and the pictures that they share.
//
// Three things lead to several datasets: --split divides one source by fractions; --split-folders
// makes a dataset of each folder of one source, or groups files by their names; and several folders
// on the command line become a dataset each. A class must have the same number in all of them, or a
// model that was trained on one part would be judged wrongly on another: so the classes of all
// parts are found first.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/convert.h>
#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/convert.h"

namespace sluice {

using cli::UsageError;

namespace {

void CheckName(const std::string& name, const std::string& text) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
    throw UsageError("\"" + text +
                     "\" has a part without a usable name; a usable name is, for instance, train");
  }
}

bool IsAnnotated(const SourceArguments& arguments) {
  return !arguments.given.label_files.path.empty();
}

// Whether the label format is a single file for all images: of all formats, only --coco.
bool IsOneLabelFile(const SourceArguments& arguments) {
  return IsAnnotated(arguments) && *TreeOf(arguments.given.label_files.format).labels == '\0';
}

bool IsOneFolder(const SourceArguments& arguments) {
  return arguments.places.size() == 2 && arguments.table.empty() && arguments.paths.empty() &&
         !IsOneLabelFile(arguments) && KindOf(arguments.places[0]) == PlaceKind::kFolder;
}

// The folder of label files that --voc, --yolo or --dota names; null without such an option.
template <class Arguments>
auto* LabelFolder(Arguments& arguments) {
  const bool given = IsAnnotated(arguments) && !IsOneLabelFile(arguments);
  return given ? &arguments.given.label_files.path : nullptr;
}

bool IsFolderThere(const std::filesystem::path& path) {
  return KindOf(path.native()) == PlaceKind::kFolder;
}

// If --voc, --yolo or --dota names the root of a tree such as images/train and labels/train,
// returns the arguments with images/ and labels/ in place of the root: the folders inside these two
// are the splits. Otherwise returns the arguments unchanged.
SourceArguments AboveSplits(SourceArguments arguments) {
  std::filesystem::path* const given = LabelFolder(arguments);
  if (given == nullptr) return arguments;
  const LabelTree tree = TreeOf(arguments.given.label_files.format);
  const std::filesystem::path images = std::filesystem::path(arguments.places[0]) / tree.images;
  const std::filesystem::path labels = *given / tree.labels;
  if (!IsFolderThere(images) || !IsFolderThere(labels)) return arguments;
  arguments.places[0] = images.string();
  *given = labels;
  return arguments;
}

// Returns the arguments with their only source replaced by the folders inside it.
SourceArguments FoldersInside(const SourceArguments& arguments, std::vector<std::string>& warnings,
                              const std::stop_token& stop) {
  const std::filesystem::path root = arguments.places[0];
  if (IsStoreUrl(root.native())) {
    throw UsageError(
        "--split-folders looks into folders on a local disk; name a store's folders one by one, as "
        "in: sluice convert s3://bucket/train s3://bucket/val DATASET");
  }
  if (!std::filesystem::exists(root)) {
    throw Error(ErrorCode::kNotFound, root.string(), "does not exist");
  }
  if (IsOneLabelFile(arguments) && arguments.places.size() == 2) {
    throw UsageError(
        "--split-folders does not take --coco: its file describes one dataset; convert each split "
        "with its own file");
  }
  if (!IsOneFolder(arguments)) throw UsageError("--split-folders takes one folder as SOURCE");
  SourceArguments inside = AboveSplits(arguments);
  const std::filesystem::path above = inside.places[0];
  inside.places.clear();
  const SplitFolders found = FindSplitFolders(
      above, {.of_any_name = true, .follow_links = arguments.given.follow_links}, stop);
  for (const std::string& name : found.names) {
    const std::filesystem::path folder = above / name;
    for (const AnnotationFormat format : {AnnotationFormat::kYolo, AnnotationFormat::kDota}) {
      const LabelTree tree = TreeOf(format);
      if (IsAnnotated(arguments) || !IsFolderThere(folder / tree.images) ||
          !IsFolderThere(folder / tree.labels)) {
        continue;
      }
      const std::string option = std::string("--") + option_list::WordOf(format);
      throw UsageError("\"" + folder.string() + "\" holds images/ and " + tree.labels + "/, as " +
                       (format == AnnotationFormat::kDota ? "DOTA" : "YOLO") +
                       "'s datasets do; they are read with " + option + ", as in: sluice convert " +
                       option + " " + root.string() + " " + root.string() + " " +
                       arguments.places.back() + " --split-folders");
    }
    inside.places.push_back(folder.string());
  }
  if (inside.places.empty()) {
    throw Error(ErrorCode::kNotFound, root.string(),
                "has no folder with images" +
                    (found.warnings.empty() ? "" : "; " + found.warnings.front()));
  }
  inside.places.push_back(arguments.places.back());
  warnings = found.warnings;
  return inside;
}

// Groups files by split. The split comes from the files' names or, if no name has one, from their
// folders' names; files without a split are grouped under "". Empty if a place is not a file.
// `kinds`: of the places.
std::map<std::string, std::vector<std::string>> FilesBySplit(const SourceArguments& arguments,
                                                             const std::vector<PlaceKind>& kinds) {
  const std::span places(arguments.places.begin(), arguments.places.end() - 1);
  const bool files =
      arguments.table.empty() && arguments.paths.empty() && !IsAnnotated(arguments) &&
      std::ranges::all_of(kinds, [](PlaceKind kind) { return kind == PlaceKind::kFile; });
  if (!files) return {};
  std::map<std::string, std::vector<std::string>> by_split;
  for (const std::string& place : places)
    by_split[SplitOfFile(std::filesystem::path(place).filename())].push_back(place);
  if (by_split.size() > 1 || !by_split.contains("")) return by_split;
  by_split.clear();
  for (const std::string& place : places)
    by_split[SplitOfFile(place)].push_back(place);
  return by_split;
}

std::vector<std::vector<std::string>> ClassesOfEach(const std::vector<ConvertPart>& parts,
                                                    const FormOptions& form, unsigned threads,
                                                    const std::stop_token& stop) {
  std::vector<std::vector<std::string>> classes;
  for (const ConvertPart& part : parts)
    classes.push_back(FindClasses(part.source, threads, stop, form));
  return classes;
}

bool NamesClasses(const SourceArguments& arguments) {
  return !arguments.classes.empty() || !arguments.given.label.classes_of.empty();
}

// Gives each class the same number in all parts. `classes` holds the classes of each part. If they
// differ, the classes of the part with the most come first, and those that it lacks follow.
void ShareClasses(std::vector<ConvertPart>& parts,
                  const std::vector<std::vector<std::string>>& classes) {
  std::vector<std::string> all =
      *std::max_element(classes.begin(), classes.end(),
                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::set<std::string> known(all.begin(), all.end());
  for (const std::vector<std::string>& of_part : classes) {
    for (const std::string& name : of_part) {
      if (known.insert(name).second) all.push_back(name);
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (classes[i] == all || classes[i].empty()) continue;
    parts[i].source.label.classes = all;
    parts[i].source.label.numbers = false;  // given classes exclude it, and these are the numbers
  }
}

std::vector<ConvertPart> FilesApart(const SourceArguments& arguments,
                                    const std::map<std::string, std::vector<std::string>>& files,
                                    unsigned threads, const std::stop_token& stop) {
  std::vector<ConvertPart> parts;
  for (const auto& [name, places] : files) {
    SourceArguments one = arguments;
    one.places = places;
    one.places.push_back(arguments.places.back());
    parts.push_back({name, MakeSource(one, stop)});
  }
  if (!NamesClasses(arguments))
    ShareClasses(parts, ClassesOfEach(parts, arguments.form, threads, stop));
  return parts;
}

// "train, val and test"
std::string SplitNames(const std::map<std::string, std::vector<std::string>>& files) {
  std::vector<std::string> names;
  for (const auto& [name, places] : files) {
    if (!name.empty()) names.push_back(name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

constexpr const char* kOneOrEach =
    "give the files of one split, or make a dataset of each (--split-folders); `sluice merge` "
    "makes one of several datasets";

// Makes a part for each split of the files, but no part if they have fewer than two splits.
std::vector<ConvertPart> SplitFiles(const SourceArguments& arguments,
                                    const std::vector<PlaceKind>& kinds, unsigned threads,
                                    const std::stop_token& stop) {
  std::map<std::string, std::vector<std::string>> files = FilesBySplit(arguments, kinds);
  const std::size_t splits = files.size() - (files.contains("") ? 1 : 0);
  if (splits > 1 && files.contains("") && arguments.split_folders) {
    throw UsageError("the name of \"" + files[""].front() +
                     "\" does not say its split, and other "
                     "files are of the splits " +
                     SplitNames(files) + "; leave the file out or rename it");
  }
  if (splits > 1 && !arguments.split_folders) {
    throw UsageError("the files are of the splits " + SplitNames(files) + "; " + kOneOrEach);
  }
  if (splits > 1) return FilesApart(arguments, files, threads, stop);
  if (!files.empty() && arguments.split_folders) {
    throw UsageError(
        "--split-folders takes one folder, or files whose names (train-0.tar, test-0.tar) or "
        "folders (train/0.tar, test/0.tar) say their splits; these files are " +
        (splits == 0 ? "of no split" : "all of the split " + SplitNames(files)));
  }
  return {};
}

std::vector<ConvertPart> FoldersApart(const SourceArguments& arguments, unsigned threads,
                                      const std::stop_token& stop) {
  std::vector<ConvertPart> parts;
  std::set<std::string> names;
  for (std::size_t i = 0; i + 1 < arguments.places.size(); ++i) {
    SourceArguments one = arguments;
    one.places = {arguments.places[i], arguments.places.back()};
    std::filesystem::path path = std::filesystem::path(arguments.places[i]).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    if (arguments.split_folders && !arguments.given.mask_folder.empty() &&
        IsFolderThere(arguments.given.mask_folder / name)) {
      one.given.mask_folder /= name;
    }
    if (std::filesystem::path* const labels = LabelFolder(one)) *labels /= name;
    ConvertPart part{name, MakeSource(one, stop)};
    CheckName(part.name, arguments.places[i]);
    if (!names.insert(part.name).second) {
      throw UsageError("\"" + arguments.places[i] +
                       "\": two folders of the same name would become one dataset; rename one");
    }
    parts.push_back(std::move(part));
  }
  if (NamesClasses(arguments) && IsAnnotated(arguments)) return parts;
  // Even if the user names the classes: a part that cannot be read then fails now, and not after
  // the parts before it have been converted.
  const std::vector<std::vector<std::string>> found =
      ClassesOfEach(parts, arguments.form, threads, stop);
  if (NamesClasses(arguments)) return parts;
  if (IsAnnotated(arguments) || arguments.given.label.numbers) {
    ShareClasses(parts, found);
    return parts;
  }
  std::set<std::string> classes;
  for (const std::vector<std::string>& of_part : found)
    classes.insert(of_part.begin(), of_part.end());
  // A part without labels, such as images to be classified, ignores the classes.
  for (ConvertPart& part : parts)
    part.source.label.classes.assign(classes.begin(), classes.end());
  return parts;
}

}  // namespace

std::vector<std::pair<std::string, double>> ParseSplit(const std::string& text) {
  std::vector<std::pair<std::string, double>> parts;
  std::set<std::string> names;
  double sum = 0;
  for (const std::string& part : cli::Split(text)) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    CheckName(name, text);
    if (!names.insert(name).second) throw UsageError("\"" + text + "\" names " + name + " twice");
    if (equals == part.size()) throw UsageError("\"" + part + "\" is not NAME=FRACTION");
    const double fraction = cli::ParseNumber(part.substr(equals + 1), 1);
    if (fraction <= 0) throw UsageError("\"" + part + "\": a fraction must be above 0");
    sum += fraction;
    parts.emplace_back(name, fraction);
  }
  if (sum > 1 + 1e-9) throw UsageError("\"" + text + "\" adds up to more than 1");
  return parts;
}

std::vector<std::string> UnclearSplitFolders(const SourceArguments& arguments,
                                             const std::stop_token& stop) {
  const bool said = arguments.split_folders || !arguments.given.label.store ||
                    arguments.given.label.folders != FolderLabels::kAuto;
  if (said || !IsOneFolder(arguments)) return {};
  const SourceArguments above = AboveSplits(arguments);
  std::vector<std::string> names =
      FindSplitFolders(above.places[0], {.follow_links = arguments.given.follow_links}, stop).names;
  // If the label files are not in folders of the same names, they are for all images, and the
  // folders are not splits.
  if (const std::filesystem::path* const labels = LabelFolder(above)) {
    std::erase_if(names,
                  [labels](const std::string& name) { return !IsFolderThere(*labels / name); });
    if (names.size() < 2) names.clear();
  }
  return names;
}

PartsMade MakeParts(const SourceArguments& arguments, const std::string& split, std::uint64_t seed,
                    unsigned threads, const std::stop_token& stop) {
  PartsMade made;
  std::vector<ConvertPart>& parts = made.parts;
  const std::span places(arguments.places.begin(), arguments.places.end() - 1);
  std::vector<PlaceKind> kinds;
  std::ranges::transform(places, std::back_inserter(kinds), KindOf);
  if (parts = SplitFiles(arguments, kinds, threads, stop); !parts.empty()) return made;
  if (arguments.split_folders) {
    parts = FoldersApart(FoldersInside(arguments, made.warnings, stop), threads, stop);
    return made;
  }
  const auto folder = std::ranges::find(kinds, PlaceKind::kFolder);
  const auto file = std::ranges::find(kinds, PlaceKind::kFile);
  if (folder != kinds.end() && file != kinds.end()) {
    const auto place = [&](auto kind) {
      return places[static_cast<std::size_t>(kind - kinds.begin())];
    };
    throw UsageError("\"" + place(folder) + "\" is a folder and \"" + place(file) +
                     "\" is a file; convert folders and files separately (sluice merge makes one "
                     "dataset of several)");
  }
  const bool folders = arguments.places.size() > 2 && !IsAnnotated(arguments) &&
                       arguments.table.empty() && arguments.paths.empty() &&
                       (kinds[0] == PlaceKind::kFolder || kinds[0] == PlaceKind::kStore);
  if (folders) {
    if (!split.empty()) throw UsageError("--split takes one source, not several folders");
    parts = FoldersApart(arguments, threads, stop);
    return made;
  }
  const ConvertSource source = MakeSource(arguments, stop);
  if (split.empty()) {
    parts.push_back({"", source});
    return made;
  }
  double begin = 0;
  double least = 1;
  std::size_t smallest = 0;
  for (const auto& [name, fraction] : ParseSplit(split)) {
    if (fraction < least) {
      least = fraction;
      smallest = parts.size();
    }
    ConvertPart part{name, source};
    part.source.split.begin = begin;
    begin += fraction;
    if (begin > 1 - 1e-9) begin = 1;
    part.source.split.end = begin;
    part.source.split.seed = seed;
    parts.push_back(std::move(part));
  }
  // Throws now if a part gets no samples, not after the others have been converted. (An empty list
  // of paths stands for the list of an earlier run, which has passed this check.)
  for (std::size_t p = 0; p < parts.size(); ++p) {
    // If a column decides the part, any part may be empty, not only the smallest one.
    if (p != smallest && source.split.by.empty()) continue;
    if (!source.paths.empty() || source.kind != ConvertSource::Kind::kPaths) {
      FindClasses(parts[p].source, threads, stop, arguments.form);
    }
  }
  return made;
}

void CreatePartsFolder(const std::string& folder) {
  if (IsStoreUrl(folder)) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(ErrorCode::kIo, folder, "cannot be created: " + error.message());
  for (const char* name : {"plan.json", "manifest.json"}) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / name)) continue;
    throw Error(ErrorCode::kExists, folder,
                "is itself a dataset, and the parts would lie inside it; choose another folder");
  }
  std::filesystem::path full = std::filesystem::absolute(folder).lexically_normal();
  if (!full.has_filename()) full = full.parent_path();
  const int fd = open(full.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // not readable; the parts' own folders are synced
  fsync(fd);
  close(fd);
}

using cli::CountText;
using cli::Printable;

namespace {

constexpr const char* kListName = "duplicates.tsv";

std::string Side(const SharedImage& image) {
  return image.part + ": " + image.file.path;
}

}  // namespace

SharedImages LookForSharedImages(const std::vector<ConvertPart>& parts, const std::string& folder,
                                 const ConvertOptions& options, const std::stop_token& stop) {
  std::vector<SourcePart> sources;
  for (const ConvertPart& part : parts)
    sources.push_back({part.name, part.source, std::filesystem::path(folder) / part.name});
  const std::filesystem::path list =
      options.run.dry_run ? std::filesystem::path() : std::filesystem::path(folder) / kListName;
  return FindSharedImages(sources, list, options.run.threads, stop, options.form);
}

std::string SharedWarning(const SharedImages& shared) {
  if (shared.empty()) return {};
  const std::vector<SharedImage>& first = shared.front();
  const auto other = std::find_if(first.begin(), first.end(), [&first](const SharedImage& image) {
    return image.part != first.front().part;
  });
  return CountText(shared.size(), "picture is", "pictures are") +
         " in more than one part with the same bytes, such as " + Side(first.front()) + " and " +
         Side(*other);
}

void PrintShared(const SharedImages& shared, const std::string& folder, bool dry_run) {
  if (shared.empty()) return cli::PrintOut("no picture is in more than one part\n");
  std::fprintf(stderr, "sluice: warning: %s\n", Printable(SharedWarning(shared)).c_str());
  std::uint64_t files = 0;
  for (const std::vector<SharedImage>& group : shared)
    files += group.size();
  std::string text = CountText(shared.size(), "picture", "pictures") + " in several parts (" +
                     CountText(files, "source", "sources") + "), none left out";
  if (!dry_run) {
    text += "; see " + Printable((std::filesystem::path(folder) / kListName).string());
  }
  cli::PrintOut(text + "\n");
}

nlohmann::ordered_json SharedJson(const SharedImages& shared) {
  auto groups = nlohmann::ordered_json::array();
  for (const std::vector<SharedImage>& group : shared) {
    auto files = nlohmann::ordered_json::array();
    for (const SharedImage& image : group) {
      files.push_back(
          {{"part", image.part}, {"path", image.file.path}, {"class", image.file.class_name}});
    }
    groups.push_back(files);
  }
  return groups;
}

}  // namespace sluice
