// Replaces a dataset's manifest by one with other shards in the same folder.
//
// Programs that have opened the old manifest are not disturbed: it is kept under its id, with every
// shard that it names.
#pragma once

#include <optional>
#include <set>

#include <sluice/dataset_edit.h>

#include "writer/edit/stored_dataset.h"
#include "writer/shard_writer.h"

namespace sluice {

class NewManifest {
 public:
  // Begins with the shards of `folder`'s manifest, or with none. `direct`: copies shards that
  // cannot be linked past the page cache.
  NewManifest(const std::filesystem::path& folder, bool with_shards, bool direct);
  // Without Finish(), removes the shards that were taken over but are in no manifest.
  ~NewManifest();

  const Manifest& manifest() const noexcept { return manifest_; }
  void SetMade(std::string made) { manifest_.made = std::move(made); }

  // Takes over a shard from another folder, under a name that no manifest and no file of this
  // folder has.
  // `survey`: its line and totals.
  void Take(const std::filesystem::path& from, FinishedShard survey);

  // Puts the manifest in the old one's place.
  EditSummary Finish();

 private:
  std::string FreeName();
  bool MayHave(const std::filesystem::path& to, const ManifestShard& shard) const;
  std::filesystem::path OldManifest() const;

  std::filesystem::path folder_;
  Id128 old_id_;
  Manifest manifest_;
  std::set<std::string> used_;  // shard names in all manifests of the folder
  std::uint32_t next_ = 0;
  std::vector<std::string> taken_;
  bool old_is_kept_ = false;  // a copy of the old manifest was made here
  bool finished_ = false;
  std::optional<DirectBuffer> direct_;
};

EditSummary Summarize(const Manifest& manifest);

std::vector<std::string> ClassesOf(const Schema& schema);

}  // namespace sluice
