// A dataset whose manifest is replaced by one that names other shards of the same folder.
//
// Whoever has opened the old manifest goes on undisturbed: it stays under its id, and so does every
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
  // Begins with the shards of `folder`'s manifest, or with none of them. `direct`: shards that
  // cannot be linked are copied past the page cache.
  NewManifest(const std::filesystem::path& folder, bool with_shards, bool direct);
  // Without Finish() removes the shards that were taken over and that no manifest came to name.
  ~NewManifest();

  const Manifest& manifest() const noexcept { return manifest_; }
  void SetMade(std::string made) { manifest_.made = std::move(made); }

  // Takes a shard that lies elsewhere over, under a name that no manifest of the folder uses.
  // `survey`: its line and totals.
  void Take(const std::filesystem::path& from, FinishedShard survey);

  // Puts the manifest in the old one's place.
  EditSummary Finish();

 private:
  std::string FreeName();
  std::filesystem::path OldManifest() const;

  std::filesystem::path folder_;
  Id128 old_id_;
  Manifest manifest_;
  std::set<std::string> used_;  // names of shards that a manifest of the folder knows
  std::uint32_t next_ = 0;
  std::vector<std::string> taken_;
  bool old_is_kept_ = false;  // a copy of the old manifest was made here
  bool finished_ = false;
  std::optional<DirectBuffer> direct_;
};

EditSummary Summarize(const Manifest& manifest);

std::vector<std::string> ClassesOf(const Schema& schema);

}  // namespace sluice
