// If a name were examined first and opened afterwards, somebody could exchange the file in between.
// So a file is opened first, by its name in the open folder, and Check() then examines what was
// opened. Fail() and OpenPrivate() look at the name as well, but only for a better message.
// umask may take the group's permissions away when a file is made, so Check() sets the mode of this
// user's own files in a folder that a group shares.
#include "format/disk/shared_folder.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/system_error.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

bool IsOurs(const struct stat& info) noexcept {
  return info.st_uid == geteuid() || info.st_uid == 0;
}

// Whether the owner is the overflow user, to whom files of the host's root belong in a container
// without privileges. A folder that this process's user has named may belong to the overflow user,
// because the files in the folder are checked one by one.
bool IsOfUnknown(const struct stat& info) noexcept {
  constexpr uid_t kOverflow = 65534;  // user_namespaces(7)
  return info.st_uid == kOverflow;
}

bool IsInGroup(gid_t group) {
  if (getegid() == group) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

// The group that shares a folder, if one does. A stranger's folder that only looks shared does not
// count: it must belong to this user or to root, or its group must be one of this user's.
std::optional<gid_t> SharingGroup(const struct stat& info) {
  const bool shared = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IWGRP) != 0 &&
                      (info.st_mode & S_IWOTH) == 0;
  if (!shared || (!IsOurs(info) && !IsInGroup(info.st_gid))) return std::nullopt;
  return info.st_gid;
}

std::string OfAnother(const struct stat& info, const fs::path& folder) {
  return "belongs to user " + std::to_string(info.st_uid) +
         ", who could choose what is read and overwritten here; use a folder of your own, or one "
         "that a group shares: `chgrp GROUP " +
         folder.string() + " && chmod 2770 " + folder.string() + "`";
}

FileHandle OpenRoot(const fs::path& path) {
  FileHandle folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) return folder;
  const int number = errno;
  throw SystemError(number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path.string(),
                    "cannot be opened: " + SystemErrorText(number), number);
}

}  // namespace

SharedFolder SharedFolder::Make(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_directory(path, missing)) CreateFolder(path);
  return Open(path);
}

SharedFolder SharedFolder::Open(const fs::path& path) {
  FileHandle folder = OpenRoot(path);
  struct stat info {};
  if (fstat(folder.get(), &info) != 0) {
    throw SystemError(ErrorCode::kIo, path.string(),
                      "cannot be examined: " + SystemErrorText(errno), errno);
  }
  const std::optional<gid_t> group = SharingGroup(info);
  if (!IsOurs(info) && !group && !IsOfUnknown(info))
    throw Error(ErrorCode::kIo, path.string(), OfAnother(info, path));
  return {path, std::move(folder), group};
}

void SharedFolder::Refuse(const std::string& name, const std::string& why) const {
  throw Error(ErrorCode::kIo, (path_ / name).string(), why);
}

void SharedFolder::Fail(const std::string& name, int error_number) const {
  struct stat info {};
  if (fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(info.st_mode)) {
      Refuse(name,
             "is a symbolic link, whose maker would choose what is overwritten; "
             "remove it");
    }
    if (!IsOurs(info) && (!group_ || info.st_gid != *group_)) Refuse(name, OfAnother(info, path_));
  }
  throw SystemError(error_number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    (path_ / name).string(), "cannot be opened: " + SystemErrorText(error_number),
                    error_number);
}

// Refuses an opened file or folder that is neither ours nor the group's. Makes our own files
// writable for members of the group.
void SharedFolder::Check(const FileHandle& file, const std::string& name, bool folder) const {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) Fail(name, errno);
  if (folder ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode)) {
    Refuse(name, std::string("is ") +
                     (S_ISFIFO(info.st_mode)  ? "a named pipe"
                      : S_ISDIR(info.st_mode) ? "a folder"
                                              : "a device") +
                     (folder ? ", not a folder; remove it" : ", not a regular file; remove it"));
  }
  const bool of_group = group_ && info.st_gid == *group_ && (info.st_mode & S_IWOTH) == 0;
  if (!IsOurs(info) && !of_group) Refuse(name, OfAnother(info, path_));
  if (!folder && info.st_nlink > 1) {
    Refuse(name,
           "is a hard link: writing it would also overwrite the file under its other name; remove "
           "this link");
  }
  if (of_group && info.st_uid == geteuid()) {
    const mode_t mode = (info.st_mode & 07777) | S_IRGRP | S_IWGRP |
                        (folder ? static_cast<mode_t>(S_IXGRP | S_ISGID) : 0);
    if (mode != (info.st_mode & 07777)) fchmod(file.get(), mode);
  }
}

FileHandle SharedFolder::OpenChecked(const std::string& name, int flags, mode_t mode) const {
  // O_NONBLOCK: opening a named pipe would wait.
  const int how = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  // With O_CREAT, Linux may refuse to open another user's file although its mode allows that
  // (fs.protected_regular).
  FileHandle file(openat(folder_.get(), name.c_str(), how & ~O_CREAT));
  if (!file && errno == ENOENT && (flags & O_CREAT) != 0)
    file = FileHandle(openat(folder_.get(), name.c_str(), how, mode));
  if (!file) Fail(name, errno);
  Check(file, name, (flags & O_DIRECTORY) != 0);
  return file;
}

SharedFolder SharedFolder::MakeFolder(const std::string& name) const {
  if (mkdirat(folder_.get(), name.c_str(), 0777) != 0 && errno != EEXIST) Fail(name, errno);
  return OpenFolder(name);
}

SharedFolder SharedFolder::OpenFolder(const std::string& name) const {
  return {path_ / name, OpenChecked(name, O_RDONLY | O_DIRECTORY), group_};
}

FileHandle SharedFolder::OpenFile(const std::string& name) const {
  return OpenChecked(name, O_RDWR | O_CREAT);
}

FileHandle SharedFolder::OpenForReading(const std::string& name) const {
  return OpenChecked(name, O_RDONLY);
}

FileHandle SharedFolder::OpenPrivate(const std::string& name) const {
  struct stat info {};
  // Not OfAnother(): no group shares these files, and the folder may be /dev/shm, whose mode must
  // stay.
  const auto require_own = [&] {
    if (info.st_uid == geteuid()) return;
    Refuse(name, "belongs to user " + std::to_string(info.st_uid) +
                     ", who could choose what is read here; set SharedRows::folder to a folder of "
                     "your own");
  };
  if (fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(info.st_mode)) {
    require_own();
  }
  FileHandle file = OpenChecked(name, O_RDWR | O_CREAT, 0600);
  if (fstat(file.get(), &info) != 0) Fail(name, errno);
  require_own();
  if ((info.st_mode & 077) != 0) Refuse(name, "can be opened by other users; remove it");
  return file;
}

FileHandle SharedFolder::OpenLock(const std::string& name) const {
  try {
    return OpenFile(name);
  } catch (const SystemError& error) {
    if (error.number() != EROFS && error.number() != EACCES) throw;
    if (!Has(name)) throw;
  }
  return OpenForReading(name);
}

std::vector<std::string> SharedFolder::Names() const {
  // The folder is opened again: a listing moves the position of its open file.
  const int fd = openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fd < 0 ? nullptr : fdopendir(fd), closedir);
  if (listing == nullptr) {
    const int number = errno;
    if (fd >= 0) close(fd);
    throw SystemError(ErrorCode::kIo, path_.string(),
                      "cannot be listed: " + SystemErrorText(number), number);
  }
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

bool SharedFolder::Has(const std::string& name) const noexcept {
  struct stat info {};
  return fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

void SharedFolder::Remove(const std::string& name) const noexcept {
  if (unlinkat(folder_.get(), name.c_str(), 0) != 0)
    unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace sluice
