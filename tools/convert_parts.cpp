#include "tools/convert_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/convert.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/quantity.h"

namespace sluice {

using cli::UsageError;

namespace {

void CheckName(const std::string& name, const std::string& text) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
    throw UsageError("\"" + text + "\" has a part without a usable name, such as train");
  }
}

bool IsOneFolder(const SourceArguments& arguments) {
  return arguments.places.size() == 2 && arguments.table.empty() && arguments.paths.empty() &&
         arguments.coco.empty() && arguments.voc.empty() && arguments.yolo.empty() &&
         std::filesystem::is_directory(arguments.places[0]);
}

// The arguments with the folders inside of the only one as the sources.
SourceArguments FoldersInside(const SourceArguments& arguments, const std::stop_token& stop) {
  const std::filesystem::path root = arguments.places[0];
  if (IsStoreUrl(root.native())) {
    throw UsageError(
        "--split-folders looks into folders on a local disk; name those of a store one by one, as "
        "in: sluice convert s3://bucket/train s3://bucket/val DATASET");
  }
  if (!std::filesystem::exists(root)) {
    throw Error(ErrorCode::kNotFound, root.string(), "does not exist");
  }
  if (!IsOneFolder(arguments)) throw UsageError("--split-folders takes one folder as SOURCE");
  SourceArguments inside = arguments;
  inside.places.clear();
  for (const std::string& name : FindSplitFolders(root, true, stop))
    inside.places.push_back((root / name).string());
  if (inside.places.empty()) {
    throw Error(ErrorCode::kNotFound, root.string(), "has no folder with images");
  }
  inside.places.push_back(arguments.places.back());
  return inside;
}

// Files of several splits, such as train-0.parquet and test-0.parquet, by their split; those
// without such a name under "". Of tar files the splits are not looked at: their names are free.
std::map<std::string, std::vector<std::string>> FilesBySplit(const SourceArguments& arguments) {
  std::map<std::string, std::vector<std::string>> files;
  for (std::size_t i = 0; i + 1 < arguments.places.size(); ++i) {
    const std::string& place = arguments.places[i];
    if (!arguments.table.empty() || !arguments.paths.empty() || place.ends_with(".tar") ||
        !std::filesystem::is_regular_file(place)) {
      return {};
    }
    files[SplitOfFile(place)].push_back(place);
  }
  return files;
}

std::vector<ConvertPart> FilesApart(const SourceArguments& arguments,
                                    const std::map<std::string, std::vector<std::string>>& files,
                                    const std::stop_token& stop) {
  std::vector<ConvertPart> parts;
  for (const auto& [name, places] : files) {
    SourceArguments one = arguments;
    one.places = places;
    one.places.push_back(arguments.places.back());
    parts.push_back({name, MakeSource(one, stop)});
  }
  return parts;
}

std::vector<ConvertPart> FoldersApart(const SourceArguments& arguments, unsigned threads,
                                      const std::stop_token& stop) {
  std::vector<ConvertPart> parts;
  std::set<std::string> names;
  std::set<std::string> classes;
  for (std::size_t i = 0; i + 1 < arguments.places.size(); ++i) {
    SourceArguments one = arguments;
    one.places = {arguments.places[i], arguments.places.back()};
    std::filesystem::path path = std::filesystem::path(arguments.places[i]).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    if (arguments.split_folders &&
        std::filesystem::is_directory(std::filesystem::path(arguments.mask_folder) / name)) {
      one.mask_folder = (std::filesystem::path(arguments.mask_folder) / name).string();
    }
    ConvertPart part{name, MakeSource(one, stop)};
    CheckName(part.name, arguments.places[i]);
    if (!names.insert(part.name).second) {
      throw UsageError("\"" + arguments.places[i] +
                       "\": two folders of the same name would become one dataset; rename one");
    }
    const std::vector<std::string> found = FindClasses(part.source, threads, stop);
    classes.insert(found.begin(), found.end());
    parts.push_back(std::move(part));
  }
  if (!arguments.classes.empty()) return parts;
  // A part without labels, such as the images that are to be classified, ignores them.
  for (ConvertPart& part : parts)
    part.source.classes.assign(classes.begin(), classes.end());
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
  const bool said = arguments.split_folders || arguments.no_labels ||
                    arguments.folder_labels != FolderLabels::kAuto;
  if (said || !IsOneFolder(arguments)) return {};
  return FindSplitFolders(arguments.places[0], false, stop);
}

std::vector<ConvertPart> MakeParts(const SourceArguments& arguments, const std::string& split,
                                   std::uint64_t seed, unsigned threads,
                                   const std::stop_token& stop) {
  const std::map<std::string, std::vector<std::string>> files = FilesBySplit(arguments);
  if (files.size() > 1 && !files.contains("")) {
    if (arguments.split_folders) return FilesApart(arguments, files, stop);
    throw UsageError("the files are of the splits " + files.begin()->first + " and " +
                     files.rbegin()->first +
                     "; give those of one, or make a dataset of each (--split-folders)");
  }
  if (arguments.split_folders) return FoldersApart(FoldersInside(arguments, stop), threads, stop);
  const bool folders =
      arguments.places.size() > 2 && arguments.table.empty() && arguments.paths.empty() &&
      (std::filesystem::is_directory(arguments.places[0]) || IsStoreUrl(arguments.places[0]));
  if (folders) {
    if (!split.empty()) throw UsageError("--split takes one source, not several folders");
    return FoldersApart(arguments, threads, stop);
  }
  const ConvertSource source = MakeSource(arguments, stop);
  if (split.empty()) return {{"", source}};
  std::vector<ConvertPart> parts;
  double begin = 0;
  double least = 1;
  std::size_t smallest = 0;
  for (const auto& [name, fraction] : ParseSplit(split)) {
    if (fraction < least) {
      least = fraction;
      smallest = parts.size();
    }
    ConvertPart part{name, source};
    part.source.split_begin = begin;
    begin += fraction;
    if (begin > 1 - 1e-9) begin = 1;
    part.source.split_end = begin;
    part.source.split_seed = seed;
    parts.push_back(std::move(part));
  }
  // One that gets nothing is found now, and not when the others have been converted. (A list that
  // an earlier run has left is read later; that run has got beyond this.)
  if (!source.paths.empty() || source.kind != ConvertSource::Kind::kPaths) {
    FindClasses(parts[smallest].source, threads, stop);
  }
  return parts;
}

void CreatePartsFolder(const std::string& folder) {
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
  if (fd < 0) return;  // may be entered but not read; the parts' own folders are synced
  fsync(fd);
  close(fd);
}

}  // namespace sluice
