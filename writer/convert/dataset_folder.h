// The folder that a conversion writes into: claimed, locked, and searched for an earlier run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sluice/convert_source.h>
#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "format/remote/object_store.h"

namespace sluice {

inline constexpr const char* kSkippedName = "skipped.tsv";
// In a temporary name, this precedes the word that identifies one of several processes.
inline constexpr std::string_view kOwnPrefix = ".part-";

class DatasetFolder {
 public:
  // Creates the folder if needed and locks it for this process; the lock ends with the object or
  // with the process. Errors: kExists (the folder holds files that no conversion left there),
  // kState (another conversion is running in it), kIo.
  explicit DatasetFolder(const std::filesystem::path& path);
  // Opens the folder for one of several processes that work on its plan: they share the lock. The
  // temporary names of the files that this process writes contain `own`. Errors: kNotFound (no
  // plan), kState, kIo.
  DatasetFolder(const std::filesystem::path& path, std::string own);

  const std::filesystem::path& path() const noexcept { return path_; }
  // The text of the plan that an earlier run left, or nullopt.
  const std::optional<std::string>& plan() const noexcept { return plan_; }
  // The word in temporary names; empty if no other process writes here at the same time.
  const std::string& own() const noexcept { return own_; }

  // Replaces the file by one with this content, unless it has that content already.
  void Write(const std::string& name, std::string_view content) const;

 private:
  void TakePlan();

  std::filesystem::path path_;
  std::string own_;
  FileHandle lock_;
  std::optional<std::string> plan_;
};

// The folder's manifest; nullopt if it is missing or damaged. Throws Error: kExists if a shard in
// the manifest has the name of one of a conversion's other files, such as skipped.tsv; and the
// errors of reading a file.
std::optional<Manifest> FindManifest(const std::filesystem::path& folder, Id128& id);

// Makes a folder in the system's folder for temporary files, for shards that wait for their upload.
// The caller removes it. Throws Error(kIo).
std::filesystem::path MakeUploadFolder();

// Removes a conversion's files under temporary names. They are unfinished, or they are whole and
// the power failed before their renaming reached the disk. The caller must hold the folder's lock.
void RemoveLeftovers(const std::filesystem::path& folder);

// RemovePlanned() removes what a conversion in steps needs only until the manifest exists: the
// notes of shards without samples and, last, the list of sources. It also removes the files that
// killed workers left under temporary names.
// RemoveEmptyShardNotes() removes only the notes of shards without samples.
void RemovePlanned(const std::filesystem::path& folder);
void RemoveEmptyShardNotes(const std::filesystem::path& folder);

// Locks a folder for this process until the handle or the process ends. Throws Error(kState) if
// another process holds the lock. If the file system has no locks, the folder stays unlocked.
// `shared`: together with other processes that ask for a shared lock.
FileHandle LockFolder(const std::filesystem::path& folder, bool shared = false);

// If the folder has the mark of a killed command, removes it. `whole`: the folder holds a dataset,
// so nothing else is removed; otherwise, what that command made goes, too. Throws Error: kExists if
// other files are in the folder then, kState if the command is still running.
void RemoveWhatWasLeft(const std::filesystem::path& folder, bool whole);

// The folder of a new dataset that no plan describes. It is locked while the dataset is made, and
// has the mark of a WorkFolder until the dataset is finished. If the process is killed, a later
// call finds the mark, removes what was left and begins again.
class NewFolder {
 public:
  // Creates the folder if needed. Throws Error, with kExists if it holds anything but what an
  // interrupted call has left.
  explicit NewFolder(const std::filesystem::path& folder);
  // Without Finish() or Keep(), removes what is in the folder, and the folder unless it existed
  // before.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  // Leaves what is in the folder for a later call to remove.
  void Keep() noexcept;
  // Call it once the dataset's manifest is written.
  void Finish();

 private:
  // The folder did not exist, or an interrupted call left it: without Finish() or Keep(), it is
  // removed with its content.
  bool is_new_ = false;
  bool stays_ = false;  // after Keep() or Finish()
  FileHandle lock_;
  std::optional<WorkFolder> work_;
};

// Removes a folder that a conversion left, its plan last. If this is interrupted at any point, a
// later conversion into the folder finds either a conversion that it can continue, or none.
void RemoveConversion(const std::filesystem::path& folder);

}  // namespace sluice
