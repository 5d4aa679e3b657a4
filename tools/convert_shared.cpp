#include "tools/convert_shared.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice {

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
  return FindSharedImages(sources, list, options.run.threads, stop);
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
