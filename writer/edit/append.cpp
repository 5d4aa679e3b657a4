// `sluice append`: converts a source to a small dataset next to the dataset, then adds its shards
// by one new manifest.
//
// Until the manifest is replaced, the dataset is untouched; if an append is killed, calling it
// again resumes it. After that, a repeated call must notice that nothing is left to add (HasAll).
// HasAll() recognises a shard by its id, which depends on the plan, and by its digest, which
// depends on the bytes; after a repack it finds the shard in the old manifest. Samples that the
// dataset already has, under the same key and with the same content, are refused: if a folder has
// grown and is appended again, its old images would otherwise be added a second time.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/disk/system_error.h"
#include "writer/convert/conversion.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/edit/columns.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/joining.h"
#include "writer/edit/new_version.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/list/source_list.h"

namespace sluice {

namespace {

const char* FormNoun(ImageCodec form) {
  switch (form) {
    case ImageCodec::kJpeg: return "JPEGs";
    case ImageCodec::kPacked: return "packed images";
    case ImageCodec::kRaw: break;
  }
  return "raw pixels";
}

// "JPEGs of at most 500 pixels a side"
std::string FormText(const ConvertOptions& options) {
  std::string text = FormNoun(options.form.image);
  if (options.geometry.max_side) {
    text += " of at most " + std::to_string(*options.geometry.max_side) + " pixels a side";
  } else if (options.geometry.short_side) {
    text += " of at most " + std::to_string(*options.geometry.short_side) +
            " pixels on the shorter side";
  } else if (options.geometry.size) {
    text += " of " + std::to_string(options.geometry.size->width) + "x" +
            std::to_string(options.geometry.size->height) + " pixels";
  }
  return text;
}

// The options that the dataset was converted with. Options that do not change the result are taken
// from `given`; if the manifest has no options, all are, with a warning.
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
  options.run.threads = given.run.threads;
  options.run.on_error = given.run.on_error;
  options.run.direct = given.run.direct;
  options.run.check = given.run.check;
  return options;
}

// The folder, next to the dataset, in which the samples to add are first converted to a dataset.
std::filesystem::path StagingIn(const WorkFolder& work) {
  return work.path() / "dataset";
}

// Like ConvertTo(), but the Error for an unfinished append of an earlier call says what to do.
ConvertSummary ConvertAddition(const Schema& schema, const ConvertSource& source,
                               const WorkFolder& work, const ConvertOptions& options,
                               const ConvertHooks& hooks) {
  try {
    return ConvertTo(schema, source, StagingIn(work), options, hooks);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kExists) throw;
    throw Error(ErrorCode::kExists, error.file(),
                error.sentence() + "; " + work.path().string() +
                    " belongs to an unfinished append: repeat that command to finish it, or "
                    "remove this folder to cancel it");
  }
}

// Removes what was converted for an append.
void RemoveAddition(WorkFolder& work) {
  RemoveConversion(StagingIn(work));
  work.Remove();
}

using Bytes16 = std::array<std::uint8_t, 16>;
using ShardIds = std::set<Bytes16>;

ShardIds IdsOf(const Manifest& manifest) {
  ShardIds ids;
  for (const ManifestShard& shard : manifest.shards)
    ids.insert(shard.id.bytes);
  return ids;
}

// The manifest from before the repack that made this one; nullopt if no repack made this one, or if
// the earlier manifest is gone.
std::optional<Manifest> BeforeRepack(const std::filesystem::path& folder,
                                     const Manifest& manifest) {
  if (NestsDeeperThan(manifest.made, kMaxJsonDepth)) return std::nullopt;
  const nlohmann::json made = nlohmann::json::parse(manifest.made, nullptr, false);
  const auto repacked = made.find("repacked");
  if (repacked == made.end() || !repacked->is_object()) return std::nullopt;
  const auto from = repacked->find("from");
  Id128 id;
  if (from == repacked->end() || !from->is_string() ||
      !FromHex(from->get_ref<const std::string&>(), id)) {
    return std::nullopt;
  }
  const std::filesystem::path old = folder / OldManifestName(id);
  try {
    std::vector<std::byte> text;
    ReadFile(old, kMaxManifestBytes, text);
    return ManifestFromJson(AsText(text), old.string(), id);
  } catch (const Error& error) {
    if (!SaysDataIsLost(error)) throw;
    return std::nullopt;
  }
}

// Whether the dataset already has all samples of the added shards: in the same shards, or in shards
// from before a repack.
bool HasAll(const std::filesystem::path& folder, const Manifest& manifest, const Manifest& added) {
  constexpr int kMaxRepacks = 1000;  // ends the search if manifests form a circle
  std::optional<Manifest> now = manifest;
  for (int repacks = 0; now && repacks < kMaxRepacks; ++repacks) {
    // A shard's id depends on the plan, which has names and sizes of sources. Its digest depends on
    // the shard's bytes, so on the sources' contents.
    std::set<std::pair<Bytes16, Bytes16>> there;
    for (const ManifestShard& shard : now->shards)
      there.emplace(shard.id.bytes, shard.digest.bytes);
    if (std::all_of(added.shards.begin(), added.shards.end(), [&there](const ManifestShard& shard) {
          return there.contains({shard.id.bytes, shard.digest.bytes});
        })) {
      return true;
    }
    now = BeforeRepack(folder, *now);
  }
  return false;
}

// Whether the dataset has a shard with the id of an added one. If so, `file` is that shard's name.
bool HoldsAny(const Manifest& manifest, const Manifest& added, std::string& file) {
  const ShardIds ids = IdsOf(added);
  const auto there =
      std::find_if(manifest.shards.begin(), manifest.shards.end(),
                   [&ids](const ManifestShard& shard) { return ids.contains(shard.id.bytes); });
  if (there == manifest.shards.end()) return false;
  file = there->file;
  return true;
}

// Deleted samples are hidden, and their bytes are still in the shards. So a source that has them is
// not new to the dataset, and adding it would not bring them back.
std::string AboutDeleted(const Manifest& manifest) {
  std::uint64_t deleted = 0;
  for (const DeletedRun& run : manifest.deleted)
    deleted += run.count;
  if (deleted == 0) return {};
  return "samples that were deleted (" + std::to_string(deleted) +
         ") count as held, too: `sluice restore` brings them back, and `sluice subset` makes a "
         "dataset without them, to which they can be added";
}

// Why the samples must not be added: the dataset has some of them already. Empty if it has none.
std::string SharedRefusal(const StoredDataset& before, const StoredDataset& added,
                          const std::stop_token& stop, std::vector<std::string>& warnings) {
  Schema schema = before.manifest.schema;
  std::vector<LabelMaps> maps;
  for (const StoredDataset* const dataset : {&before, &added})
    maps.push_back(
        ReconcileClasses(dataset->manifest.schema, dataset->folder.string(), schema, warnings));
  const SharedSamples shared = FindSharedSamples({before, added}, maps, schema, stop);
  if (stop.stop_requested()) ThrowStopped();
  if (shared.same_keys > 0) {
    warnings.push_back(std::to_string(shared.same_keys) +
                       " samples have the same key as an earlier sample, but different content; "
                       "all are added");
  }
  if (shared.count == 0) return {};
  return "already holds " + std::to_string(shared.count) +
         " of the samples to add, with the same content, such as \"" + shared.key +
         "\"; add only the others (--paths LIST), or convert all of them to a dataset of their own "
         "and let `sluice merge --duplicates` decide" +
         (before.manifest.deleted.empty() ? "" : "; " + AboutDeleted(before.manifest));
}

AppendSummary Append(const LockedDataset& dataset, const ConvertSource& source,
                     const ConvertOptions& options, const std::optional<double>& missing,
                     const ConvertHooks& hooks, WorkFolder& work) {
  const StoredDataset& before = dataset.stored;
  const std::filesystem::path& folder = before.folder;
  const std::filesystem::path staging = StagingIn(work);
  ConvertSource with_classes = source;
  with_classes.label.numbers = false;  // the classes are the dataset's
  if (source.label.store && source.label.classes.empty() && source.label.classes_of.empty() &&
      !ClassesIn(before.manifest.schema).label.empty()) {
    with_classes.label.classes_of = folder;
  }
  AppendSummary summary;
  std::vector<std::string> warnings;
  ConvertOptions own = OptionsOf(before.manifest, options, warnings);
  // Metadata are part of a plan, on which the ids of shards depend; a repeated append with other
  // metadata must get the same ids. The manifest gets the metadata below.
  own.shards.meta.clear();
  summary.converted = ConvertAddition(before.manifest.schema, with_classes, work, own, hooks);
  for (const std::string& warning : summary.converted.warnings) {
    if (warning != DirectRefusal(staging)) warnings.push_back("in the added samples: " + warning);
  }
  if (summary.converted.direct_refused) warnings.push_back(DirectRefusal(folder));
  {
    const StoredDataset added(staging);
    if (HasAll(folder, before.manifest, added.manifest)) {  // also if nothing is to be added
      RemoveAddition(work);
      // If an append before this call left the work folder, it was killed after it had replaced the
      // manifest. This call only completes that append, so its samples were not there before.
      summary.already_there = !work.found() && !added.manifest.shards.empty();
      summary.made = Summarize(before.manifest);
      if (summary.already_there && !before.manifest.deleted.empty())
        warnings.push_back(AboutDeleted(before.manifest));
      summary.made.warnings = std::move(warnings);
      return summary;
    }
    if (std::string file; HoldsAny(before.manifest, added.manifest, file)) {
      RemoveAddition(work);
      throw Error(ErrorCode::kInvalidArgument, folder.string(),
                  "holds samples of the same names and sizes already (" + file +
                      "); rename the files to add, or convert them to a dataset of their own and "
                      "merge the two");
    }
    if (const std::string refusal = SharedRefusal(before, added, hooks.stop, warnings);
        !refusal.empty()) {
      RemoveAddition(work);
      throw Error(ErrorCode::kInvalidArgument, folder.string(), refusal);
    }
    NewVersion adding(dataset, true, options.run.direct);
    adding.TakeAll(added);
    EditHooks edit;
    edit.stop = hooks.stop;
    edit.direct = options.run.direct;
    ExtendColumns(adding, folder, added, missing, edit);
    adding.ChangeMeta(options.shards.meta);
    summary.made = adding.Finish();
  }
  summary.made.warnings = std::move(warnings);
  RemoveAddition(work);
  return summary;
}

}  // namespace

AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options, const ConvertHooks& hooks,
                              const std::optional<double>& missing) {
  CheckMetadata(options.shards.meta);
  const LockedDataset before(dataset);
  WorkFolder work(before.stored.folder.native() + ".append");
  try {
    return Append(before, source, options, missing, hooks, work);
  } catch (...) {
    // The next call resumes a conversion that has begun.
    if (std::filesystem::exists(StagingIn(work) / kPlanName)) work.Keep();
    throw;
  }
}

}  // namespace sluice
