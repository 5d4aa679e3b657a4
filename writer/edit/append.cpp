#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"

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
  return options;
}

std::vector<std::string> ClassesOf(const Schema& schema) {
  const std::size_t field = ClassField(schema);
  return field == Schema::kNone ? std::vector<std::string>() : schema.fields[field].classes;
}

bool HasAll(const Manifest& manifest, const Manifest& added) {
  return std::all_of(added.shards.begin(), added.shards.end(), [&](const ManifestShard& shard) {
    return std::any_of(manifest.shards.begin(), manifest.shards.end(),
                       [&shard](const ManifestShard& there) { return there.id == shard.id; });
  });
}

EditSummary Summarize(const Manifest& manifest) {
  EditSummary summary;
  summary.samples = manifest.samples;
  summary.shards = manifest.shards.size();
  for (const ManifestShard& shard : manifest.shards)
    summary.bytes += shard.bytes;
  summary.classes = ClassesOf(manifest.schema);
  return summary;
}

// The dataset's manifest while shards are added to it.
class Adding {
 public:
  Adding(const std::filesystem::path& folder, const Manifest& added) : folder_(folder) {
    manifest_ = ReadManifest(folder, id_);
    if (manifest_.schema == added.schema) return;
    throw Error(ErrorCode::kInvalidArgument, folder.string(),
                "what was converted has other fields than the dataset; `sluice merge` reconciles "
                "classes");
  }

  void Take(const std::filesystem::path& from, const ManifestShard& shard, FinishedShard survey) {
    for (const ManifestShard& there : manifest_.shards) {
      if (there.id != shard.id) continue;
      throw Error(ErrorCode::kInvalidArgument, folder_.string(),
                  "holds these samples already (" + there.file + ")");
    }
    survey.shard.file = FreeName();
    // A call that was killed may have left a file of that name that no manifest knows.
    const std::filesystem::path to = folder_ / survey.shard.file;
    std::filesystem::remove(to);
    LinkOrCopy(from, to);
    AddShard(survey, manifest_);
  }

  EditSummary Finish() {
    SyncFolder(folder_);  // the new shards' names, before a manifest names them
    KeepOldManifest();
    Id128 id;
    const std::string text = ManifestToJson(manifest_, id);
    WriteFile(folder_ / kManifestName, AsBytes(text));
    return Summarize(manifest_);
  }

 private:
  std::string FreeName() const {
    for (std::size_t number = manifest_.shards.size();; ++number) {
      std::string name = ShardFileName(static_cast<std::uint32_t>(number));
      const bool used =
          std::any_of(manifest_.shards.begin(), manifest_.shards.end(),
                      [&name](const ManifestShard& shard) { return shard.file == name; });
      if (!used) return name;
    }
  }

  void KeepOldManifest() const {
    std::vector<std::byte> text;
    ReadFile(folder_ / kManifestName, std::uint64_t{1} << 30, text);
    WriteFile(folder_ / ("manifest-" + ToHex(id_) + ".json"), text);
  }

  const std::filesystem::path& folder_;
  Id128 id_;
  Manifest manifest_;
};

}  // namespace

AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options, const ConvertHooks& hooks) {
  std::filesystem::path folder = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "data/" is "data"
  const StoredDataset before(folder);
  const FileHandle lock = LockFolder(folder);  // nobody else appends meanwhile
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
      std::filesystem::remove_all(staging);
      summary.made = Summarize(before.manifest);
      return summary;
    }
    Adding adding(folder, added.manifest);
    for (std::size_t s = 0; s < added.manifest.shards.size(); ++s) {
      const ManifestShard& entry = added.manifest.shards[s];
      const ShardFile shard = added.Open(s);
      adding.Take(staging / entry.file, entry, SurveyShard(shard, entry.file));
    }
    summary.made = adding.Finish();
  }
  std::filesystem::remove_all(staging);
  return summary;
}

}  // namespace sluice
