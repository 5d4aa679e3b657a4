// The lock is on the folder itself (flock), so no lock file is left behind. A conversion takes a
// folder that has a plan, or that is empty except for files that an interrupted conversion leaves
// there before its plan.
#include "writer/convert/dataset_folder.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include <sluice/convert.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/file.h"
#include "format/disk/file_lock.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/report.h"
#include "writer/text.h"

namespace sluice {

namespace {

// Whether the name is that of a file, other than a shard, that conversions or edits write or remove
// in a dataset's folder.
bool IsReserved(const std::string& name) {
  return name == kPlanName || name == kPlannedSourcesName || name == kManifestName ||
         name == kSkippedName || name == kDuplicatesName || IsEmptyShardName(name) ||
         IsOldManifestName(name);
}

bool IsLeftover(std::string_view name) {
  std::string whole(NameOfTemporary(name));
  if (const std::size_t own = whole.rfind(kOwnPrefix); own != std::string::npos) whole.resize(own);
  return IsReserved(whole) || (whole.starts_with("shard-") && whole.ends_with(".sluice"));
}

// Whether a command that makes a dataset without a plan gives this name to a file in its folder.
bool IsGivenToNewDataset(const std::string& name) {
  return IsReserved(name) || IsLeftover(name) ||
         (name.starts_with("shard-") && name.ends_with(".sluice") &&
          name.find('/') == std::string::npos);
}

bool HoldsForeignFiles(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::any_of(begin(entries), end(entries), [](const auto& entry) {
    const std::string name = entry.path().filename().string();
    return name != kPlannedSourcesName && !IsLeftover(name);  // the list is written before its plan
  });
}

}  // namespace

DatasetFolder::DatasetFolder(const std::filesystem::path& path) : path_(path) {
  RequireFolder(path_);
  CreateFolder(path_);
  lock_ = LockFolder(path_);
  if (std::filesystem::exists(path_ / kPlanName)) {
    TakePlan();
  } else if (HoldsForeignFiles(path_)) {
    throw Error(ErrorCode::kExists, path_.string(),
                "holds files that are not from a conversion; empty it, or choose a folder that "
                "does not exist yet");
  }
}

DatasetFolder::DatasetFolder(const std::filesystem::path& path, std::string own)
    : path_(path), own_(std::move(own)) {
  RequireFolder(path_);
  if (!std::filesystem::exists(path_ / kPlanName)) {
    throw Error(ErrorCode::kNotFound, path_.string(),
                "has no plan of a conversion; make one with `sluice plan SOURCE DATASET`");
  }
  lock_ = LockFolder(path_, true);
  TakePlan();
}

void DatasetFolder::TakePlan() {
  std::vector<std::byte> content;
  ReadFile(path_ / kPlanName, kMaxManifestBytes, content);
  plan_ = AsText(content);
  // The run that left the plan may have been killed after it renamed a file and before it synced
  // the folder. That file must become durable before the files that this run adds.
  SyncFolder(path_);
}

std::filesystem::path MakeUploadFolder() {
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  std::string name = (temporary / "sluice-upload-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kIo, temporary.string(),
                "cannot create a folder there for shards that wait for their upload: " +
                    (error ? error.message() : SystemErrorText(errno)) +
                    "; set TMPDIR to a folder for temporary files");
  }
  return name;
}

FileHandle LockFolder(const std::filesystem::path& folder, bool shared) {
  FileHandle lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) {
    throw Error(ErrorCode::kIo, folder.string(),
                "the folder cannot be opened: " + SystemErrorText(errno));
  }
  if (!LockFile(lock, shared ? FileHold::kShared : FileHold::kExclusive) && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::kState, folder.string(),
                "another command is writing into this folder, or another program has locked it "
                "with flock" +
                    LockHolder(lock) + "; wait until it ends");
  }
  return lock;
}

NewFolder::NewFolder(const std::filesystem::path& folder) {
  RequireFolder(folder);
  std::error_code error;
  is_new_ = !std::filesystem::exists(folder, error) && !error;
  CreateFolder(folder);
  lock_ = LockFolder(folder);
  const bool left = WorkFolder::IsAt(folder);
  // A process may be killed between writing the manifest and removing the mark.
  const bool whole = std::filesystem::exists(folder / kManifestName);
  if (left && !whole) is_new_ = true;
  if (whole || (!left && !std::filesystem::is_empty(folder))) {
    if (left) WorkFolder(folder).Finish();
    throw Error(ErrorCode::kExists, folder.string(),
                "is not empty; empty it, or choose a folder that does not exist yet");
  }
  work_.emplace(folder, IsGivenToNewDataset);
  if (left) work_->Empty();
}

void RemoveWhatWasLeft(const std::filesystem::path& folder, bool whole) {
  if (!WorkFolder::IsAt(folder)) return;
  if (whole) return WorkFolder(folder).Finish();
  WorkFolder left(folder, IsGivenToNewDataset);
  left.Empty();
  left.Finish();
}

void NewFolder::Keep() noexcept {
  work_->Keep();
  stays_ = true;
}

void NewFolder::Finish() {
  stays_ = true;
  work_->Finish();
}

NewFolder::~NewFolder() {
  if (stays_ || is_new_) return;  // a new folder is removed by the WorkFolder, with its content
  try {
    work_->Empty();
    work_->Finish();
  } catch (const std::exception&) {
    // The mark is still there: the next process removes what could not be removed now.
  }
}

std::optional<Manifest> FindManifest(const std::filesystem::path& folder, Id128& id) {
  Manifest manifest;
  try {
    manifest = ReadManifest(folder, id);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnfinished) throw;
    return std::nullopt;
  }
  for (const ManifestShard& shard : manifest.shards) {
    if (!IsReserved(shard.file)) continue;
    throw Error(ErrorCode::kExists, folder.string(),
                "holds a dataset with a shard called " + ToUtf8(shard.file) +
                    ", and a conversion writes another file of that name; choose another folder");
  }
  return manifest;
}

void RemoveLeftovers(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (IsLeftover(entry.path().filename().string())) std::filesystem::remove(entry.path());
  }
}

namespace {
template <class Is>
void RemoveIf(const std::filesystem::path& folder, Is&& is) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is(entry.path().filename().string())) files.push_back(entry.path());
  }
  std::error_code ignored;  // another process may remove the same files at the same time
  for (const std::filesystem::path& file : files)
    std::filesystem::remove(file, ignored);
}
}  // namespace

void RemoveEmptyShardNotes(const std::filesystem::path& folder) {
  RemoveIf(folder, IsEmptyShardName);
}

void RemovePlanned(const std::filesystem::path& folder) {
  RemoveIf(folder,
           [](const std::string& name) { return IsEmptyShardName(name) || IsLeftover(name); });
  std::error_code ignored;
  std::filesystem::remove(folder / kPlannedSourcesName, ignored);
}

void DatasetFolder::Write(const std::string& name, std::string_view content) const {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path_ / name, error);
  if (!error && size == content.size()) {
    std::vector<std::byte> there;
    ReadFile(path_ / name, content.size(), there);
    if (AsText(there) == content) return;
  }
  WriteFile(path_ / name, AsBytes(content), nullptr, own_);
}

void RemoveConversion(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != kPlanName) files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files)
    std::filesystem::remove(file);
  SyncFolder(folder);  // first make sure that the other files stay removed; then remove the plan
  std::filesystem::remove(folder / kPlanName);
  std::filesystem::remove(folder);
}

}  // namespace sluice
