// A new dataset of linked shards and new ones: the result of most edits. (Another version of a
// dataset in its own folder: new_version.h.)
#pragma once

#include <array>
#include <map>
#include <optional>

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
  // The shards that follow are those of a new column with these fields.
  void BeginColumn(const Schema& schema);

  // Reports samples that were skipped to the hooks.
  void Skip(std::uint64_t samples) { Count(samples); }

  // `made`: how the dataset was made, as JSON.
  EditSummary Finish(const std::string& made);

  const Manifest& manifest() const noexcept { return manifest_; }
  // The manifest to come, for members that say nothing of its shards.
  Manifest& edited() noexcept { return manifest_; }

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

// Gives a file a second name; if that is impossible, copies it. The caller syncs the folder.
// `direct` as for AtomicFile. If `from` is a symbolic link (caches of downloads keep shards so),
// the file that it leads to gets the name: a second link would not lead there from another folder,
// and would be empty once the cache is cleared.
void LinkOrCopy(const std::filesystem::path& from, const std::filesystem::path& to,
                DirectBuffer* direct);

EditSummary Summarize(const Manifest& manifest);

std::vector<std::string> ClassesOf(const Schema& schema);

}  // namespace sluice
