#include "tools/convert_parts.h"

#include <algorithm>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice {

using cli::UsageError;

namespace {

void CheckName(const std::string& name, const std::string& text) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
    throw UsageError("\"" + text + "\" has a part without a usable name, such as train");
  }
}

std::vector<ConvertPart> FoldersApart(const SourceArguments& arguments, unsigned threads,
                                      const std::stop_token& stop) {
  std::vector<ConvertPart> parts;
  std::set<std::string> names;
  std::set<std::string> classes;
  bool labelled = true;
  for (std::size_t i = 0; i + 1 < arguments.places.size(); ++i) {
    SourceArguments one = arguments;
    one.places = {arguments.places[i], arguments.places.back()};
    std::filesystem::path path = std::filesystem::path(arguments.places[i]).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    ConvertPart part{path.filename().string(), MakeSource(one, stop)};
    CheckName(part.name, arguments.places[i]);
    if (!names.insert(part.name).second) {
      throw UsageError("\"" + arguments.places[i] +
                       "\": two folders of the same name would become one dataset; rename one");
    }
    const std::vector<std::string> found = FindClasses(part.source, threads, stop);
    labelled = labelled && !found.empty();
    classes.insert(found.begin(), found.end());
    parts.push_back(std::move(part));
  }
  if (!labelled || !arguments.classes.empty()) return parts;
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

std::vector<ConvertPart> MakeParts(const SourceArguments& arguments, const std::string& split,
                                   std::uint64_t seed, unsigned threads,
                                   const std::stop_token& stop) {
  const bool folders = arguments.places.size() > 2 && arguments.table.empty() &&
                       arguments.paths.empty() &&
                       std::filesystem::is_directory(arguments.places[0]);
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
