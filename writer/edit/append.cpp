#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/edit/growing.h"

namespace sluice {

namespace {

// The options that the dataset was converted with; what does not change the result from `given`.
ConvertOptions OptionsOf(const Manifest& manifest, const ConvertOptions& given) {
  const nlohmann::json made = nlohmann::json::parse(manifest.made, nullptr, false);
  if (!made.is_object() || !made.contains("options")) return given;
  ConvertOptions options = OptionsFromJson(made["options"]);
  options.threads = given.threads;
  options.on_error = given.on_error;
  options.max_pixels = given.max_pixels;
  options.direct = given.direct;
  return options;
}

bool HasAll(const Manifest& manifest, const Manifest& added) {
  return std::all_of(added.shards.begin(), added.shards.end(), [&](const ManifestShard& shard) {
    return std::any_of(manifest.shards.begin(), manifest.shards.end(),
                       [&shard](const ManifestShard& there) { return there.id == shard.id; });
  });
}

bool HoldsAny(const Manifest& manifest, const Manifest& added, std::string& file) {
  for (const ManifestShard& shard : added.shards) {
    for (const ManifestShard& there : manifest.shards) {
      if (there.id != shard.id) continue;
      file = there.file;
      return true;
    }
  }
  return false;
}

// The dataset as it will be, held against what was converted.
NewManifest BeginAdding(const std::filesystem::path& folder, const Manifest& added, bool direct) {
  NewManifest adding(folder, true, direct);
  if (adding.manifest().schema != added.schema) {
    throw Error(ErrorCode::kInvalidArgument, folder.string(),
                "what was converted has other fields than the dataset; `sluice merge` reconciles "
                "classes");
  }
  return adding;
}

}  // namespace

AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options, const ConvertHooks& hooks) {
  std::filesystem::path folder = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "data/" is "data"
  const StoredDataset before(folder);
  const FileHandle lock = LockFolder(folder);  // nobody else appends meanwhile
  RemoveLeftovers(folder);
  std::filesystem::path staging = folder;
  staging += ".append";
  const bool goes_on = std::filesystem::exists(staging);
  ConvertSource with_classes = source;
  if (with_classes.classes.empty()) with_classes.classes = ClassesOf(before.manifest.schema);
  AppendSummary summary;
  summary.converted = Convert(with_classes, staging, OptionsOf(before.manifest, options), hooks);
  {
    const StoredDataset added(staging);
    if (goes_on && HasAll(before.manifest, added.manifest)) {  // killed at the very end
      RemoveConversion(staging);
      summary.made = Summarize(before.manifest);
      return summary;
    }
    if (std::string file; HoldsAny(before.manifest, added.manifest, file)) {
      RemoveConversion(staging);
      throw Error(ErrorCode::kInvalidArgument, folder.string(),
                  "holds these samples already (" + file + ")");
    }
    NewManifest adding = BeginAdding(folder, added.manifest, options.direct);
    for (std::size_t s = 0; s < added.manifest.shards.size(); ++s) {
      const std::string& file = added.manifest.shards[s].file;
      adding.Take(staging / file, SurveyShard(added.Open(s), file));
    }
    summary.made = adding.Finish();
    if (summary.converted.direct_refused) summary.made.warnings.push_back(DirectRefusal(folder));
  }
  RemoveConversion(staging);
  return summary;
}

}  // namespace sluice
