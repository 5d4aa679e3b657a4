#include <algorithm>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/salvage.h"
#include "writer/local_folder.h"
#include "writer/manifest_totals.h"

namespace sluice {

namespace {

constexpr const char* kShardEnding = ".sluice";

// The shards to repair: those of the manifest or, if it is lost, all in the folder.
struct Damaged {
  std::optional<Manifest> manifest;
  std::vector<Id128> ids;  // of the manifest
  std::vector<std::string> files;
  Schema schema;
};

std::vector<std::string> ShardFiles(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == kShardEnding) {
      files.push_back(entry.path().filename().string());
    }
  }
  // "shard-00000.sluice" comes before its further part "shard-00000.1.sluice".
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    const auto stem = [](const std::string& name) {
      return name.substr(0, name.size() - std::string_view(kShardEnding).size());
    };
    return stem(a) < stem(b);
  });
  return files;
}

bool HoldsOldManifest(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::any_of(begin(entries), end(entries), [](const auto& entry) {
    const std::string name = entry.path().filename().string();
    return name.starts_with("manifest-") && name.ends_with(".json");
  });
}

Damaged LookAt(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kNotFound, folder.string(), "this folder does not exist");
  }
  Damaged damaged;
  try {
    Id128 id;
    damaged.manifest = ReadManifest(folder, id);
    damaged.ids.push_back(id);
    damaged.schema = damaged.manifest->schema;
    for (const ManifestShard& shard : damaged.manifest->shards)
      damaged.files.push_back(shard.file);
    return damaged;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnfinished) {
      throw Error(ErrorCode::kUnfinished, folder.string(),
                  "its conversion was not finished, or its manifest.json is lost; run the same "
                  "`sluice convert` command again, which completes it either way, or remove "
                  "plan.json to repair from the shards there are");
    }
    if (error.code() == ErrorCode::kUnsupported || !SaysDataIsLost(error)) throw;
  }
  damaged.files = ShardFiles(folder);
  std::string trouble = "there is none";
  for (const std::string& file : damaged.files) {
    try {
      damaged.schema = ShardFile::ReadSchema(folder / file);
      return damaged;
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      trouble = error.sentence();
    }
  }
  throw Error(ErrorCode::kCorrupt, folder.string(),
              "the manifest is lost and no shard says what the fields are: " + trouble);
}

bool IsWhole(const ShardFile& shard) {
  try {
    RequireWhole(shard);
    return true;
  } catch (const Error& error) {
    if (!SaysDataIsLost(error)) throw;
    return false;
  }
}

class Repair {
 public:
  Repair(const std::filesystem::path& folder, const EditHooks& hooks)
      : folder_(folder), hooks_(hooks), damaged_(LookAt(folder)) {
    report_.manifest_rebuilt = !damaged_.manifest;
    if (damaged_.manifest || !HoldsOldManifest(folder)) return;
    report_.made.warnings.emplace_back(
        "the dataset was appended to or repacked (manifest-ID.json lies beside it), and all shards "
        "in its folder were taken: if `sluice append --repack` had replaced some, their samples "
        "come twice");
  }

  RepairReport Into(const std::filesystem::path& out) {
    const std::string name =
        damaged_.manifest ? damaged_.manifest->name : folder_.filename().string();
    DatasetBuild build(out, name, damaged_.schema,
                       damaged_.manifest ? damaged_.manifest->samples : 0, hooks_);
    for (std::size_t s = 0; s < damaged_.files.size(); ++s)
      Mend(s, build);
    EditSummary made = build.Finish(MadeByEdit("repair", damaged_.ids, Options()));
    made.warnings.insert(made.warnings.end(), report_.made.warnings.begin(),
                         report_.made.warnings.end());
    report_.made = std::move(made);
    return std::move(report_);
  }

  // Only the manifest is missing.
  RepairReport InPlace() {
    if (damaged_.manifest) {
      throw Error(ErrorCode::kInvalidArgument, folder_.string(),
                  "has its manifest; give NEW, a folder for the repaired dataset");
    }
    Manifest manifest = BeginManifest(folder_.filename().string(), damaged_.schema);
    for (const std::string& file : damaged_.files) {
      const ShardFile shard(folder_ / file, damaged_.schema);
      if (!IsWhole(shard)) {
        throw Error(ErrorCode::kCorrupt, (folder_ / file).string(),
                    "is damaged; give NEW, a folder for the repaired dataset");
      }
      AddShard(SurveyShard(shard, file), manifest);
    }
    manifest.made = MadeByEdit("repair", damaged_.ids, Options());
    Id128 id;
    const std::string text = ManifestToJson(manifest, id);
    WriteFile(folder_ / kManifestName, AsBytes(text));
    report_.made.samples = manifest.samples;
    report_.made.shards = report_.made.shards_linked = manifest.shards.size();
    for (const ManifestShard& shard : manifest.shards)
      report_.made.bytes += shard.bytes;
    return std::move(report_);
  }

 private:
  // Samples are lost only if reading their shard fails; an error of writing ends the repair.
  void Mend(std::size_t s, DatasetBuild& build) {
    const std::filesystem::path path = folder_ / damaged_.files[s];
    if (std::optional<FinishedShard> whole = SurveyIfWhole(s)) {
      return build.Link(path, std::move(*whole));
    }
    std::optional<std::uint64_t> planned;
    if (damaged_.manifest) planned = damaged_.manifest->shards[s].samples;
    MappedFile file;
    try {
      file = MappedFile(path);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      return LoseShard(s, error.sentence(), build);
    }
    if (const std::optional<std::size_t> other = OtherIn(s)) {
      if (IdOf(*other) == IdOf(s)) {
        return LoseShard(s, "its samples: this file is a copy of " + damaged_.files[*other], build);
      }
      planned = damaged_.manifest->shards[*other].samples;  // files were swapped: saves it here
    }
    bool begun = false;
    const std::size_t before = report_.lost.size();
    SalvageShard(
        file, damaged_.files[s], damaged_.schema, planned,
        [&](const Salvage& salvage, EncodedSample&& sample) {
          if (!begun) {
            const Bytes id = std::as_bytes(std::span(salvage.id.bytes));
            build.BeginShard(Hash128({id, AsBytes("mended")}), salvage.block_samples);
          }
          begun = true;
          build.Add(std::move(sample));
        },
        report_.lost);
    build.EndShard();
    for (std::size_t i = before; i < report_.lost.size(); ++i)
      build.Skip(report_.lost[i].samples);
    ++report_.shards_mended;
  }

  // Nothing if a sample, a key or the frame of the shard is damaged.
  std::optional<FinishedShard> SurveyIfWhole(std::size_t s) {
    ShardExpectation expect;
    if (damaged_.manifest) {
      expect.id = damaged_.manifest->shards[s].id;
      expect.digest = damaged_.manifest->shards[s].digest;
    }
    try {
      const ShardFile shard(folder_ / damaged_.files[s], damaged_.schema, expect);
      if (IsWhole(shard)) return SurveyShard(shard, damaged_.files[s]);
      NoteDamagedKeys(shard, damaged_.files[s]);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
    }
    return std::nullopt;
  }

  void LoseShard(std::size_t s, const std::string& reason, DatasetBuild& build) {
    const std::uint64_t samples = damaged_.manifest ? damaged_.manifest->shards[s].samples : 0;
    report_.lost.push_back({damaged_.files[s], -1, samples, {}, reason});
    build.Skip(samples);
  }

  // If shard `s`'s file holds another shard of the dataset, that shard's number.
  std::optional<std::size_t> OtherIn(std::size_t s) const {
    if (!damaged_.manifest) return std::nullopt;
    const std::vector<ManifestShard>& shards = damaged_.manifest->shards;
    const std::optional<Id128> id = IdOf(s);
    if (!id || *id == shards[s].id) return std::nullopt;
    const auto other = std::find_if(shards.begin(), shards.end(),
                                    [&id](const ManifestShard& shard) { return shard.id == *id; });
    if (other == shards.end()) return std::nullopt;
    return static_cast<std::size_t>(other - shards.begin());
  }

  // The id in a shard's own header, if it can be read.
  std::optional<Id128> IdOf(std::size_t s) const {
    try {
      return ShardFile(folder_ / damaged_.files[s], damaged_.schema).id();
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      return std::nullopt;
    }
  }

  // The conversion's options, if there is a manifest.
  nlohmann::json Options() const {
    return damaged_.manifest ? OptionsOfMade(damaged_.manifest->made) : nlohmann::json();
  }

  // Damaged keys are kept as far as they can be read, but they may be wrong: one checksum covers
  // them all.
  void NoteDamagedKeys(const ShardFile& shard, const std::string& file) {
    try {
      shard.Section(kSectionKeys);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      report_.lost.push_back({file, -1, 0, {}, "its keys are damaged: some may be wrong"});
    }
  }

  const std::filesystem::path& folder_;
  const EditHooks& hooks_;
  Damaged damaged_;
  RepairReport report_;
};

}  // namespace

RepairReport RepairDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                           const EditHooks& hooks) {
  RequireFolder(dataset);
  Repair repair(dataset, hooks);
  return out.empty() ? repair.InPlace() : repair.Into(out);
}

}  // namespace sluice
