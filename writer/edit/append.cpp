#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "writer/convert/convert_to.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/edit/growing.h"

namespace sluice {

namespace {

// "JPEGs of at most 500 pixels a side"
std::string FormText(const ConvertOptions& options) {
  std::string text = options.image == ImageCodec::kJpeg  ? "JPEGs"
                     : options.image == ImageCodec::kRaw ? "raw pixels"
                                                         : "packed images";
  if (options.max_side) {
    text += " of at most " + std::to_string(*options.max_side) + " pixels a side";
  } else if (options.short_side) {
    text += " of at most " + std::to_string(*options.short_side) + " pixels on the shorter side";
  } else if (options.size) {
    text += " of " + std::to_string(options.size->width) + "x" +
            std::to_string(options.size->height) + " pixels";
  }
  return text;
}

// The options that the dataset was converted with; what does not change the result from `given`,
// and everything where nothing tells, which becomes a warning.
ConvertOptions OptionsOf(const Manifest& manifest, const ConvertOptions& given,
                         std::vector<std::string>& warnings) {
  const nlohmann::json made = OptionsOfMade(manifest.made);
  if (!made.is_object()) {
    warnings.push_back(
        "the dataset does not say what options it was converted with; images were added as " +
        FormText(given));
    return given;
  }
  ConvertOptions options = OptionsFromJson(made);
  options.threads = given.threads;
  options.on_error = given.on_error;
  options.direct = given.direct;
  return options;
}

// As ConvertTo(), with what to do about an addition that an earlier call began.
ConvertSummary ConvertAddition(const Schema& schema, const ConvertSource& source,
                               const std::filesystem::path& staging, const ConvertOptions& options,
                               const ConvertHooks& hooks) {
  try {
    return ConvertTo(schema, source, staging, options, hooks);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kExists) throw;
    throw Error(ErrorCode::kExists, error.file(),
                error.sentence() + "; " + staging.string() +
                    " is an addition that was begun and not finished: repeat that one, or remove "
                    "this folder to give it up");
  }
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

}  // namespace

AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options, const ConvertHooks& hooks) {
  std::filesystem::path folder = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "data/" is "data"
  StoredDataset before(folder);  // or there is none, which is said first
  const FileHandle lock = LockFolder(folder);
  before = StoredDataset(folder);  // nobody else changes it from here on
  RemoveLeftovers(folder);
  std::filesystem::path staging = folder;
  staging += ".append";
  const bool goes_on = std::filesystem::exists(staging);
  ConvertSource with_classes = source;
  if (with_classes.classes.empty()) with_classes.classes = ClassesOf(before.manifest.schema);
  AppendSummary summary;
  std::vector<std::string> warnings;
  const ConvertOptions own = OptionsOf(before.manifest, options, warnings);
  summary.converted = ConvertAddition(before.manifest.schema, with_classes, staging, own, hooks);
  for (const std::string& warning : summary.converted.warnings) {
    if (warning != DirectRefusal(staging)) warnings.push_back("in what was added: " + warning);
  }
  if (summary.converted.direct_refused) warnings.push_back(DirectRefusal(folder));
  {
    const StoredDataset added(staging);
    if (goes_on && HasAll(before.manifest, added.manifest)) {  // killed at the very end
      RemoveConversion(staging);
      summary.made = Summarize(before.manifest);
      summary.made.warnings = std::move(warnings);
      return summary;
    }
    if (std::string file; HoldsAny(before.manifest, added.manifest, file)) {
      RemoveConversion(staging);
      throw Error(ErrorCode::kInvalidArgument, folder.string(),
                  "holds these samples already (" + file + ")");
    }
    NewManifest adding(folder, true, options.direct);
    for (std::size_t s = 0; s < added.manifest.shards.size(); ++s) {
      const std::string& file = added.manifest.shards[s].file;
      adding.Take(staging / file, SurveyShard(added.Open(s), file));
    }
    summary.made = adding.Finish();
  }
  summary.made.warnings = std::move(warnings);
  RemoveConversion(staging);
  return summary;
}

}  // namespace sluice
