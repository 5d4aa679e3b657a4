// Stands between a program and the C library's file calls (LD_PRELOAD); see file_record.h.
//
// It does the real work by system calls, so that other interceptors, such as a sanitizer's, do not
// matter. No code here needs a constructor that runs at the program's start, because the program
// may call it before.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr std::uint64_t kCreate = 1, kWrite = 2, kSync = 3, kClose = 4, kRename = 5, kUnlink = 6,
                        kMakeFolder = 7, kLink = 8;
constexpr int kMaxFiles = 1024;
constexpr std::size_t kMaxPath = 512;

struct OpenFile {
  bool open = false;
  bool folder = false;
  char path[kMaxPath] = {};
};

struct Seam {
  std::mutex mutex;
  bool ready = false;
  char folder[kMaxPath] = {};
  int record = -1;
  char action[16] = {};
  long long number = -1;  // in the action: the call's number, or a count of bytes or shards
  int error = 0;
  long long calls = 0;
  long long written = 0;
  long long opened = 0;  // shards opened for reading
  OpenFile files[kMaxFiles];
};
constinit Seam seam;

void Prepare() {
  if (seam.ready) return;
  seam.ready = true;
  if (const char* folder = std::getenv("SLUICE_SEAM_FOLDER")) {
    std::strncpy(seam.folder, folder, kMaxPath - 1);
  }
  if (const char* record = std::getenv("SLUICE_SEAM_RECORD")) {
    seam.record = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  }
  if (const char* action = std::getenv("SLUICE_SEAM_DO")) {
    const char* const colon = std::strchr(action, ':');
    if (colon != nullptr && colon - action < 15) {
      std::memcpy(seam.action, action, static_cast<std::size_t>(colon - action));
      char* rest = nullptr;
      seam.number = std::strtoll(colon + 1, &rest, 10);
      if (*rest == ':') seam.error = std::atoi(rest + 1);
    }
  }
}

bool Is(const char* action) {
  return std::strcmp(seam.action, action) == 0;
}

// Whether the path is the folder or lies in it.
bool Watched(const char* path) {
  const std::size_t size = std::strlen(seam.folder);
  return size > 0 && std::strncmp(path, seam.folder, size) == 0 &&
         (path[size] == '/' || path[size] == 0);
}

// Whether the path is the parent of the watched folder.
bool IsParent(const char* path) {
  const char* const slash = std::strrchr(seam.folder, '/');
  const std::size_t size = slash == nullptr ? 0 : static_cast<std::size_t>(slash - seam.folder);
  return size > 0 && std::strncmp(path, seam.folder, size) == 0 &&
         (path[size] == 0 || (path[size] == '/' && path[size + 1] == 0));
}

void Put(const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const long put = syscall(SYS_write, seam.record, at, size);
    if (put <= 0) abort();
    at += put;
    size -= static_cast<std::size_t>(put);
  }
}

void PutText(const char* text, std::uint64_t size) {
  Put(&size, sizeof size);
  Put(text, size);
}

void Record(std::uint64_t kind, const char* path, const char* to, std::uint64_t offset,
            const void* data, std::uint64_t size) {
  if (seam.record < 0) return;
  Put(&kind, sizeof kind);
  PutText(path, std::strlen(path));
  PutText(to, std::strlen(to));
  Put(&offset, sizeof offset);
  PutText(static_cast<const char*>(data), size);
}

// Counts a call and does what the action says. Returns the error that the call must fail with, or
// 0.
int Before(bool may_fail) {
  const long long number = seam.calls++;
  if (number == seam.number && Is("kill")) kill(getpid(), SIGKILL);
  if (number == seam.number && Is("stop")) kill(getpid(), SIGSTOP);
  if (number == seam.number && Is("fail")) return seam.error;
  if (number >= seam.number && may_fail && Is("fail-all")) return seam.error;
  return 0;
}

int Fail(int error) {
  errno = error;
  return -1;
}

// Counts a shard that is to be opened for reading, and returns whether that must fail.
bool Refuses(const char* path, int flags) {
  if (!Is("refuse") || (flags & (O_CREAT | O_DIRECTORY)) != 0) return false;
  const std::size_t size = std::strlen(path);
  constexpr std::size_t kEnding = sizeof(".sluice") - 1;
  if (size < kEnding || std::strcmp(path + size - kEnding, ".sluice") != 0) return false;
  const std::lock_guard lock(seam.mutex);
  return seam.opened++ >= seam.number;
}

int Open(int at, const char* path, int flags, mode_t mode) {
  Prepare();
  if (Refuses(path, flags)) return Fail(seam.error);
  const bool creates = (flags & O_CREAT) != 0 && Watched(path);
  const bool folder_to_sync =
      (flags & O_DIRECTORY) != 0 && (Watched(path) || (seam.folder[0] != 0 && IsParent(path)));
  if (!creates && !folder_to_sync) {
    return static_cast<int>(syscall(SYS_openat, at, path, flags, mode));
  }
  const std::lock_guard lock(seam.mutex);
  if (creates) {
    if (const int error = Before(true)) return Fail(error);
  }
  const int fd = static_cast<int>(syscall(SYS_openat, at, path, flags, mode));
  if (fd < 0 || fd >= kMaxFiles) return fd;
  OpenFile& file = seam.files[fd];
  file.open = true;
  file.folder = !creates;
  std::strncpy(file.path, path, kMaxPath - 1);
  if (creates) Record(kCreate, path, "", 0, "", 0);
  return fd;
}

int Control(int fd, int command, long argument) {
  Prepare();
  const bool refused =
      command == F_SETFL && (argument & O_DIRECT) != 0 && Is("no-direct") && seam.number == 0;
  return refused ? Fail(EINVAL) : static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

bool GoesPastTheCache(int fd) {
  return (syscall(SYS_fcntl, fd, F_GETFL, 0) & O_DIRECT) != 0;
}

// The number of bytes that a partial write takes.
std::size_t PartOf(std::size_t size, bool past_the_cache) {
  return past_the_cache ? size / 4096 * 4096 : size;
}

OpenFile* Find(int fd) {
  return fd >= 0 && fd < kMaxFiles && seam.files[fd].open ? &seam.files[fd] : nullptr;
}

ssize_t Write(int fd, const void* data, std::size_t size, long long offset) {
  const auto real = [&](std::size_t count) {
    return offset < 0 ? syscall(SYS_write, fd, data, count)
                      : syscall(SYS_pwrite64, fd, data, count, offset);
  };
  if (Find(fd) == nullptr) return real(size);
  const std::lock_guard lock(seam.mutex);
  const long long number = seam.calls;
  const bool direct = GoesPastTheCache(fd);
  if (const int error = Before(true)) return Fail(error);
  if (Is("no-direct") && direct) return Fail(EINVAL);
  if (Is("short") && number == seam.number && size > 1 && PartOf(size / 2, direct) > 0) {
    size = PartOf(size / 2, direct);
  }
  if (Is("space") || Is("copies")) {
    const long long left = seam.number - seam.written;
    if (left <= 0) return Fail(ENOSPC);
    if (static_cast<long long>(size) > left) size = PartOf(static_cast<std::size_t>(left), direct);
    if (size == 0) return Fail(ENOSPC);
  }
  const long long from = offset < 0 ? syscall(SYS_lseek, fd, 0, SEEK_CUR) : offset;
  const ssize_t put = real(size);
  if (put > 0) {
    seam.written += put;
    Record(kWrite, seam.files[fd].path, "", static_cast<std::uint64_t>(from), data,
           static_cast<std::uint64_t>(put));
  }
  return put;
}

int Sync(int fd, long call) {
  OpenFile* const file = Find(fd);
  if (file == nullptr) return static_cast<int>(syscall(call, fd));
  const std::lock_guard lock(seam.mutex);
  if (const int error = Before(true)) return Fail(error);
  const int result = static_cast<int>(syscall(call, fd));
  if (result == 0) Record(kSync, file->path, "", 0, "", 0);
  return result;
}

int Rename(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  Prepare();
  if (!Watched(to)) {
    return static_cast<int>(syscall(SYS_renameat2, from_at, from, to_at, to, flags));
  }
  const std::lock_guard lock(seam.mutex);
  if (const int error = Before(true)) return Fail(error);
  const int result = static_cast<int>(syscall(SYS_renameat2, from_at, from, to_at, to, flags));
  if (result == 0) Record(kRename, from, to, 0, "", 0);
  return result;
}

int Link(int from_at, const char* from, int to_at, const char* to, int flags) {
  Prepare();
  if (!Watched(to)) return static_cast<int>(syscall(SYS_linkat, from_at, from, to_at, to, flags));
  const std::lock_guard lock(seam.mutex);
  if (const int error = Before(true)) return Fail(error);
  if (Is("copies")) return Fail(EXDEV);
  const int result = static_cast<int>(syscall(SYS_linkat, from_at, from, to_at, to, flags));
  if (result == 0) Record(kLink, from, to, 0, "", 0);
  return result;
}

int Unlink(int at, const char* path, int flags) {
  Prepare();
  if (!Watched(path)) return static_cast<int>(syscall(SYS_unlinkat, at, path, flags));
  const std::lock_guard lock(seam.mutex);
  if (const int error = Before(false)) return Fail(error);
  const int result = static_cast<int>(syscall(SYS_unlinkat, at, path, flags));
  if (result == 0) Record(kUnlink, path, "", 0, "", 0);
  return result;
}

}  // namespace

extern "C" {

// "no-map:0": no file can be mapped to be read.
void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
           off_t offset) noexcept {
  Prepare();
  if (Is("no-map") && fd >= 0 && protection == PROT_READ) {
    errno = ENODEV;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return Open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return Open(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return Open(at, path, flags, mode);
}
int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return Control(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return Control(fd, command, argument);
}
ssize_t write(int fd, const void* data, std::size_t size) {
  return Write(fd, data, size, -1);
}
ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) {
  return Write(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, std::size_t size, off64_t offset) {
  return Write(fd, data, size, offset);
}
int fsync(int fd) {
  return Sync(fd, SYS_fsync);
}
int fdatasync(int fd) {
  return Sync(fd, SYS_fdatasync);
}
int close(int fd) {
  OpenFile* const file = Find(fd);
  if (file == nullptr) return static_cast<int>(syscall(SYS_close, fd));
  const std::lock_guard lock(seam.mutex);
  const int error = file->folder ? 0 : Before(false);
  file->open = false;
  // A close that fails has closed the file nevertheless (Linux).
  const int result = static_cast<int>(syscall(SYS_close, fd));
  if (error != 0) return Fail(error);
  if (!file->folder) Record(kClose, file->path, "", 0, "", 0);
  return result;
}
int rename(const char* from, const char* to) {
  return Rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return Rename(from_at, from, to_at, to, 0);
}
int link(const char* from, const char* to) {
  return Link(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  return Link(from_at, from, to_at, to, flags);
}
int unlink(const char* path) {
  return Unlink(AT_FDCWD, path, 0);
}
int unlinkat(int at, const char* path, int flags) {
  return Unlink(at, path, flags);
}
int remove(const char* path) {
  struct stat info {};
  const bool folder = lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
  return Unlink(AT_FDCWD, path, folder ? AT_REMOVEDIR : 0);
}
int mkdir(const char* path, mode_t mode) {
  Prepare();
  if (!Watched(path)) return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  const std::lock_guard lock(seam.mutex);
  if (const int error = Before(true)) return Fail(error);
  const int result = static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  if (result == 0) Record(kMakeFolder, path, "", 0, "", 0);
  return result;
}

}  // extern "C"
