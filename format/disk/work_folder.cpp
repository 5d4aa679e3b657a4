// Several processes may make, take over and remove the folder at the same time. So the constructor
// begins again whenever another process was faster.
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "format/disk/file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkName = "sluice-work.txt";
constexpr std::string_view kMarkText =
    "Made by sluice for files on their way. Sluice removes this folder, with all that is in it.\n";

[[noreturn]] void Refuse(const fs::path& folder) {
  throw Error(ErrorCode::kExists, folder.string(),
              "Sluice needs this name for a folder of its own, but something that it did not make "
              "has the name; nothing was changed; move or rename it");
}

[[noreturn]] void Fail(const fs::path& path, const char* what, int error_number) {
  throw Error(ErrorCode::kIo, path.string(),
              std::string(what) + ": " + SystemErrorText(error_number));
}

// Opens the mark. Sets errno to ELOOP if a symbolic link or a special file has its name: such a
// mark is not ours.
FileHandle OpenMark(const fs::path& mark, int flags) {
  FileHandle file(open(mark.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666));
  struct stat about {};
  if (file && (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))) {
    errno = ELOOP;
    return FileHandle();
  }
  return file;
}

bool IsLinked(const FileHandle& file) {
  struct stat about {};
  return fstat(file.get(), &about) == 0 && about.st_nlink > 0;
}

}  // namespace

WorkFolder::WorkFolder(const fs::path& path) : path_(AbsolutePath(path)) {
  const fs::path mark_path = path_ / kMarkName;
  for (;;) {
    std::error_code error;
    const fs::file_status there = fs::symlink_status(path_, error);
    if (fs::exists(there) && !fs::is_directory(there)) Refuse(path_);
    CreateFolder(path_);
    FileHandle mark = OpenMark(mark_path, 0);
    found_ = static_cast<bool>(mark);
    if (!mark && errno == ELOOP) Refuse(path_);
    if (!mark && errno != ENOENT) Fail(mark_path, "cannot be opened", errno);
    if (!mark) {
      const bool empty = fs::is_empty(path_, error);
      if (error == std::errc::no_such_file_or_directory) continue;
      if (error) Fail(path_, "cannot be read", error.value());
      if (!empty) {
        if (fs::exists(fs::symlink_status(mark_path, error)))
          continue;  // another process has made it meanwhile
        Refuse(path_);
      }
      mark = OpenMark(mark_path, O_CREAT | O_EXCL);
      if (!mark && (errno == EEXIST || errno == ENOENT)) continue;
      if (!mark) Fail(mark_path, "cannot be created", errno);
    }
    if (flock(mark.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error(ErrorCode::kState, path_.string(),
                  "another command is working in this folder; wait until it ends");
    }
    if (!IsLinked(mark)) continue;  // it was removed meanwhile, by the process that held the lock
    if (!found_) {
      // A write that stores only a part does not set errno: the disk is full.
      const ssize_t written = write(mark.get(), kMarkText.data(), kMarkText.size());
      if (written != static_cast<ssize_t>(kMarkText.size())) {
        const int error_number = written < 0 ? errno : ENOSPC;
        unlink(mark_path.c_str());
        rmdir(path_.c_str());
        Fail(mark_path, "cannot be written", error_number);
      }
      SyncFolder(path_);
    }
    mark_ = mark.Release();
    return;
  }
}

WorkFolder::~WorkFolder() {
  if (mark_ < 0) return;
  try {
    if (!keep_) Remove();
  } catch (const std::exception&) {
    // The mark is still there: the next process removes what could not be removed now.
  }
  close(mark_);
}

void WorkFolder::Empty() const {
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename() == kMarkName) continue;
    fs::remove_all(at->path(), error);  // removes a link itself, not what it leads to
    if (error) break;
  }
  if (error) Fail(path_, "cannot be emptied", error.value());
}

bool WorkFolder::IsAt(const fs::path& path) {
  return static_cast<bool>(OpenMark(path / kMarkName, 0));
}

void WorkFolder::Finish() {
  keep_ = true;
  if (unlink((path_ / kMarkName).c_str()) != 0 && errno != ENOENT)
    Fail(path_ / kMarkName, "cannot be removed", errno);
}

void WorkFolder::Remove() {
  Empty();
  SyncFolder(path_);  // first make sure that the rest stays removed
  Finish();
  // ENOTEMPTY: another process has made a mark there meanwhile.
  if (rmdir(path_.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY)
    Fail(path_, "cannot be removed", errno);
}

}  // namespace sluice
