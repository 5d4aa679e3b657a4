// The results of edits: a new dataset of linked shards and new ones (DatasetBuild), or another
// manifest in a dataset's folder (NewManifest).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>

#include "format/disk/file.h"
#include "writer/convert/dataset_folder.h"
#include "writer/edit/stored_dataset.h"
#include "writer/shard_writer.h"

namespace sluice {

// Builds a new dataset from shards linked from other datasets and shards written sample by sample.
class DatasetBuild {
 public:
  // Creates `folder` as a NewFolder, and locks it while the build lives; without Finish(), removes
  // what was written. `total`: samples to come, for the hooks. All arguments must outlive the
  // build.
  DatasetBuild(const std::filesystem::path& folder, const std::string& name, const Schema& schema,
               std::uint64_t total, const EditHooks& hooks);

  // Takes over a manifest's metadata, and its members that this version does not know, unless an
  // earlier manifest gave them already. A warning names metadata that differ.
  void Keep(const Manifest& from);

  // Adds a shard unchanged, by a hard link, under the next name. `survey`: the shard's entry in the
  // manifest and its totals.
  void Link(const std::filesystem::path& shard, FinishedShard survey);

  // Like Link(), for a shard in an object store; all of its blocks must have been downloaded and
  // found whole.
  void Copy(const ShardFile& shard, FinishedShard survey);

  // Begins a new shard for the samples that follow, with that many samples per block. Its id is
  // made from `id`.
  void BeginShard(Id128 id, std::uint32_t block_samples);
  void Add(EncodedSample sample);
  // Adds a sample to shards that are filled to about 64 MB. Their ids are made of `identity`.
  void Fill(const Id128& identity, std::uint32_t block_samples, EncodedSample sample);
  void EndShard();

  // Reports samples that were skipped to the hooks.
  void Skip(std::uint64_t samples) { Count(samples); }

  // `made`: how the dataset was made, as JSON.
  EditSummary Finish(const std::string& made);

  const Manifest& manifest() const noexcept { return manifest_; }

 private:
  std::string NextName();
  void Count(std::uint64_t samples);
  void Append(FinishedShard finished);

  const std::filesystem::path& folder_;
  const EditHooks& hooks_;
  NewFolder made_in_;
  Manifest manifest_;
  Schema schema_;
  RecordLayout layout_;
  std::optional<DirectBuffer> direct_;  // if shards are written past the page cache
  Id128 id_;                            // of BeginShard()
  std::uint32_t block_samples_ = 0;
  std::uint32_t part_ = 0;  // files since BeginShard(); several if the samples are large
  // Bytes that Fill() has put into the current shard.
  std::uint64_t filled_bytes_ = 0;
  std::uint32_t filled_ = 0;  // shards that Fill() has begun
  // How many names NextName() has given to shards, finished or not.
  std::uint32_t names_ = 0;
  std::map<std::array<std::uint8_t, 16>, std::string> files_;  // names by the id of the shard
  std::optional<ShardWriter> shard_;
  std::uint64_t done_ = 0;
  std::uint64_t total_;
  std::uint64_t linked_ = 0;
  std::vector<std::string> other_meta_;  // names of metadata that differ
};

// Describes how a dataset was made: "merge" and the like, the ids of its inputs and, for later
// appends, the options of a conversion that would make such samples (null if no options would).
std::string MadeByEdit(const char* command, const std::vector<Id128>& inputs,
                       const nlohmann::json& options);

// Replaces a dataset's manifest by one with other shards in the same folder.
//
// Programs that have opened the old manifest are not disturbed: it stays as manifest-ID.json, and
// every shard that it names stays.
class NewManifest {
 public:
  // Begins with the shards of `folder`'s manifest, or with none. `direct`: shards that cannot be
  // linked are copied past the page cache.
  NewManifest(const std::filesystem::path& folder, bool with_shards, bool direct);
  // Without Finish(), removes the shards that were taken over but are in no manifest.
  ~NewManifest();

  const Manifest& manifest() const noexcept { return manifest_; }
  void SetMade(std::string made) { manifest_.made = std::move(made); }
  void ChangeMeta(const Metadata& changes) { ChangeMetadata(changes, manifest_.meta); }

  // Adds the shards of a dataset in another folder, under names that no manifest and no file of
  // this folder has.
  void TakeAll(const StoredDataset& from);

  // Replaces the old manifest.
  EditSummary Finish();

 private:
  std::string FreeName();
  bool MayHave(const std::filesystem::path& to, const ManifestShard& shard) const;
  std::filesystem::path OldManifest() const;

  std::filesystem::path folder_;
  Id128 old_id_;
  Manifest manifest_;
  std::set<std::string> used_;      // shard names in all manifests of the folder
  std::uint32_t next_ = 0;          // the number of the next name that FreeName() tries
  std::vector<std::string> taken_;  // names of the shards that TakeAll() has added
  bool old_is_kept_ = false;        // this object has made a copy of the old manifest
  bool finished_ = false;
  std::optional<DirectBuffer> direct_;
};

// A dataset that this process alone changes. `stored.folder` has no slash at its end.
struct LockedDataset {
  // Removes what killed commands have left in the folder. Throws Error; kInvalidArgument for an
  // older manifest.
  explicit LockedDataset(const std::filesystem::path& dataset);

  StoredDataset stored;
  FileHandle lock;
};

EditSummary Summarize(const Manifest& manifest);

std::vector<std::string> ClassesOf(const Schema& schema);

}  // namespace sluice
