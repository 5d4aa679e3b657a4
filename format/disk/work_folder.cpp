// Several processes may make, take over and remove the folder at the same time. So the constructor
// begins again whenever another process was faster.
//
// The mark begins with kMarkText. A line follows for each name that Record() got. A process that is
// killed may leave a mark with only a part of the text; as anybody's file may begin like that, such
// a mark counts only if nothing else is in the folder.
#include <algorithm>
#include <cerrno>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "format/disk/file.h"
#include "format/disk/file_lock.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkName = "sluice-work.txt";
constexpr std::string_view kMarkText =
    "Made by sluice for files on their way. Sluice removes what it made here, and this file.\n";

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
  FileHandle file(
      open(mark.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666));
  struct stat about {};
  if (file && (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))) {
    errno = ELOOP;
    return FileHandle();
  }
  return file;
}

// Reads at most `limit` bytes from the file's beginning.
std::string BeginningOf(const FileHandle& file, const fs::path& path, std::size_t limit) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::min<std::uint64_t>(FileBytes(file, path), limit)));
  const std::size_t got = ReadAt(file, path, 0, bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), got);
}

bool IsAlone(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != kMarkName) return false;
  return !error;
}

enum class MarkKind { kWhole, kHalf, kForeign };

MarkKind KindOf(const FileHandle& mark, const fs::path& folder) {
  const std::string text = BeginningOf(mark, folder / kMarkName, kMarkText.size());
  if (text == kMarkText) return MarkKind::kWhole;
  const bool half = FileBytes(mark, folder / kMarkName) < kMarkText.size() &&
                    kMarkText.starts_with(text) && IsAlone(folder);
  return half ? MarkKind::kHalf : MarkKind::kForeign;
}

// The names in the mark. A last line without its end is of a process that was killed.
std::set<std::string> RecordedIn(const FileHandle& mark, const fs::path& path) {
  const std::string text = BeginningOf(mark, path, SIZE_MAX);
  std::set<std::string> names;
  std::size_t begin = kMarkText.size();
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    names.insert(text.substr(begin, end - begin));
  return names;
}

struct FoundFiles {
  std::vector<std::string> made;     // by the work: files, and then their folders, deepest first
  std::vector<std::string> foreign;  // sorted
};

// Sorts what is in the folder, but the mark.
FoundFiles FilesIn(const fs::path& folder, const WorkFolder::Gives& gives) {
  const fs::path mark_path = folder / kMarkName;
  const FileHandle mark = OpenMark(mark_path, 0);
  const std::set<std::string> recorded =
      mark ? RecordedIn(mark, mark_path) : std::set<std::string>();
  std::set<std::string> folders;
  for (const std::string& name : recorded)
    for (fs::path up = fs::path(name).parent_path(); !up.empty() && up != "/";
         up = up.parent_path())
      folders.insert(up.native());
  FoundFiles found;
  std::vector<std::string> made_folders;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).native();
    if (name == kMarkName) continue;
    // A link is not followed: it counts as a file.
    const bool is_folder = at->symlink_status().type() == fs::file_type::directory;
    if (is_folder && folders.contains(name)) {
      made_folders.push_back(name);
    } else if (!is_folder && (recorded.contains(name) || gives(name))) {
      found.made.push_back(name);
    } else {
      found.foreign.push_back(name);
      if (is_folder) at.disable_recursion_pending();
    }
  }
  if (error) Fail(folder, "cannot be read", error.value());
  std::sort(made_folders.rbegin(), made_folders.rend());
  found.made.insert(found.made.end(), made_folders.begin(), made_folders.end());
  std::sort(found.foreign.begin(), found.foreign.end());
  return found;
}

void RefuseForeign(const fs::path& folder, const WorkFolder::Gives& gives) {
  const FoundFiles found = FilesIn(folder, gives);
  if (found.foreign.empty()) return;
  throw Error(
      ErrorCode::kExists, folder.string(),
      "is not empty: a command that was stopped has left it, and it holds \"" +
          found.foreign.front() +
          "\", which is not known to be that command's; nothing was changed; repeat the stopped "
          "command, or move what you need elsewhere and empty the folder, or choose a folder that "
          "does not exist yet");
}

bool IsLinked(const FileHandle& file) {
  struct stat about {};
  return fstat(file.get(), &about) == 0 && about.st_nlink > 0;
}

}  // namespace

WorkFolder::WorkFolder(const fs::path& path, Gives gives)
    : path_(AbsolutePath(path)), gives_(std::move(gives)) {
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
    if (!LockFile(mark, FileHold::kExclusive) && errno == EWOULDBLOCK) {
      throw Error(
          ErrorCode::kState, path_.string(),
          "another command is working in this folder" + LockHolder(mark) + "; wait until it ends");
    }
    if (!IsLinked(mark)) continue;  // it was removed meanwhile, by the process that held the lock
    if (found_) {
      // Another process may have written the text before this one got the lock.
      const MarkKind kind = KindOf(mark, path_);
      if (kind == MarkKind::kForeign) Refuse(path_);
      found_ = kind == MarkKind::kWhole;
      if (found_ && gives_) RefuseForeign(path_, gives_);
    }
    if (!found_) {
      if (ftruncate(mark.get(), 0) != 0) Fail(mark_path, "cannot be written", errno);
      if (!WriteWhole(mark, 0, AsBytes(kMarkText))) {
        const int error_number = errno;
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

void WorkFolder::Record(const std::string& name) const {
  // A line break would make two names of one. A file that is not recorded is never removed.
  if (name.find('\n') != std::string::npos) return;
  // One call with O_APPEND: lines of several threads stay whole.
  const std::string line = name + '\n';
  const ssize_t written = write(mark_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()))
    Fail(path_ / kMarkName, "cannot be written", written < 0 ? errno : ENOSPC);
}

void WorkFolder::RemoveMade() const {
  for (const std::string& name : FilesIn(path_, gives_).made) {
    const fs::path file = path_ / name;
    if (::remove(file.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
      Fail(file, "cannot be removed", errno);
  }
  if (ftruncate(mark_, static_cast<off_t>(kMarkText.size())) != 0)
    Fail(path_ / kMarkName, "cannot be written", errno);
}

void WorkFolder::Empty() const {
  if (gives_) return RemoveMade();
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename() == kMarkName) continue;
    fs::remove_all(at->path(), error);  // removes a link itself, not what it leads to
    if (error) break;
  }
  if (error) Fail(path_, "cannot be emptied", error.value());
}

bool WorkFolder::IsAt(const fs::path& path) {
  const FileHandle mark = OpenMark(path / kMarkName, 0);
  return mark && KindOf(mark, path) != MarkKind::kForeign;
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
