// Whole files are locked by flock(), bytes by the locks of open file descriptions (F_OFD_SETLK).
// The usual locks of fcntl() would not do: they belong to the process, and closing any descriptor
// of the file drops them.
#include "format/disk/file_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace sluice {

namespace {

struct flock LockOfByte(std::uint64_t byte, FileHold hold) noexcept {
  struct flock lock {};
  lock.l_type = static_cast<short>(hold == FileHold::kNone     ? F_UNLCK
                                   : hold == FileHold::kShared ? F_RDLCK
                                                               : F_WRLCK);
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool LockFile(const FileHandle& file, FileHold hold) noexcept {
  const int how = hold == FileHold::kNone ? LOCK_UN : hold == FileHold::kShared ? LOCK_SH : LOCK_EX;
  int result = 0;
  do {
    result = flock(file.get(), how | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

std::string LockHolder(const FileHandle& file) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return "";
  std::ifstream locks("/proc/locks");
  // A line is "1: FLOCK  ADVISORY  WRITE 17 fe:00:2345 0 EOF".
  for (std::string line; std::getline(locks, line);) {
    std::array<char, 9> kind{};
    int process = 0;
    unsigned major_number = 0, minor_number = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: %8s %*s %*s %d %x:%x:%llu", kind.data(), &process,
                    &major_number, &minor_number, &inode) != 5 ||
        std::string_view(kind.data()) != "FLOCK" || process <= 0 || inode != info.st_ino ||
        makedev(major_number, minor_number) != info.st_dev) {
      continue;
    }
    const std::string number = std::to_string(process);
    std::string name;
    std::ifstream comm("/proc/" + number + "/comm");
    std::getline(comm, name);
    const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::all_of(name.begin(), name.end(), plain)) name.clear();
    return " (process " + number + (name.empty() ? "" : ", " + name) + ")";
  }
  return "";
}

bool LockByte(const FileHandle& file, std::uint64_t byte, FileHold hold) noexcept {
  struct flock lock = LockOfByte(byte, hold);
  int result = 0;
  do {
    result = fcntl(file.get(), F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

std::optional<FileHold> OtherHold(const FileHandle& file, std::uint64_t byte,
                                  FileHold hold) noexcept {
  struct flock lock = LockOfByte(byte, hold);
  if (fcntl(file.get(), F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type == F_UNLCK   ? FileHold::kNone
         : lock.l_type == F_RDLCK ? FileHold::kShared
                                  : FileHold::kExclusive;
}

}  // namespace sluice
