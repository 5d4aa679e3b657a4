// Another version of a dataset: a manifest with other shards replaces that of the folder.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sluice/dataset_edit.h>

#include "format/disk/file.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

// Where a dataset may lie that a command changes.
enum class Places : std::uint8_t { kFolders, kFoldersAndStores };

// A dataset that this process alone changes. `stored.folder` has no slash at its end. A store has
// no locks: there, the last request of a NewVersion finds out whether another program has changed
// the dataset.
struct LockedDataset {
  // Removes what killed commands have left in the folder. Throws Error; kInvalidArgument for an
  // older manifest, or a URL that is not in `places`. Requests to the store end soon after a stop
  // request.
  explicit LockedDataset(const std::filesystem::path& dataset, Places places = Places::kFolders,
                         const std::stop_token& stop = {});

  StoredDataset stored;
  FileHandle lock;
};

// Replaces a dataset's manifest by one with other shards in the same folder: a new version.
//
// Programs that have opened the old manifest are not disturbed: it stays as manifest-ID.json, and
// every shard that it names stays. In a store, other programs may change the dataset meanwhile: the
// manifest is replaced only if it is still the one that was read.
class NewVersion {
 public:
  // Begins with the shards of the dataset's manifest, or with none. `direct`: shards that cannot be
  // linked are copied past the page cache. `dataset` must outlive it. Throws Error(kUnsupported)
  // for a store that cannot tell whether an object has changed.
  NewVersion(const LockedDataset& dataset, bool with_shards, bool direct);
  // Without Finish(), removes the shards that were taken over but are in no manifest.
  ~NewVersion();

  // Where to write new shards: in the dataset's folder; for a store, in a folder of this machine,
  // from which FinishVersion() uploads them.
  const std::filesystem::path& shard_folder();

  const Manifest& manifest() const noexcept { return manifest_; }
  // The manifest to come, for edits that do not add image shards.
  Manifest& edited() noexcept { return manifest_; }
  // What the manifest says of its making: the command, and the user's note.
  void Record(std::string by, std::string note = {});
  // A name for a new shard with that id, which no manifest and no file of this folder has. Without
  // Finish(), the file is removed.
  std::string NameFor(const Schema& schema, const Id128& id);
  void SetMade(std::string made) { manifest_.made = std::move(made); }
  void ChangeMeta(const Metadata& changes) { ChangeMetadata(changes, manifest_.meta); }

  // Adds the shards of a dataset in another folder, under names that no manifest and no file of
  // this folder has.
  void TakeAll(const StoredDataset& from);

  // Replaces the old manifest.
  EditSummary Finish();
  // The same for an edit of columns or deleted samples, also in a store. Throws Error, and changes
  // nothing, if readers would refuse the manifest; kState if another program has changed the
  // dataset in a store meanwhile.
  VersionSummary FinishVersion();

 private:
  void UploadShards();
  void ReplaceInStore();
  std::string FreeName();
  bool MayHave(const std::filesystem::path& to, const Schema& schema,
               const ShardExpectation& shard) const;
  std::filesystem::path OldManifest() const;

  const StoredDataset& dataset_;
  std::filesystem::path folder_;
  std::filesystem::path uploads_;  // for a store: the folder of shard_folder(), if it was asked for
  std::string old_etag_;           // for a store: of the old manifest
  std::vector<std::byte> old_text_;
  Id128 old_id_;
  Manifest manifest_;
  std::set<std::string> used_;      // shard names in all manifests of the folder
  std::uint32_t next_ = 0;          // the number of the next name that FreeName() tries
  std::vector<std::string> taken_;  // names of the shards that TakeAll() has added
  bool old_is_kept_ = false;        // this object has made a copy of the old manifest
  bool finished_ = false;
  std::optional<DirectBuffer> direct_;
};

}  // namespace sluice
