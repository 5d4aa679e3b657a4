#include "bench/io/direct_read.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>

namespace sluice::bench {
namespace {

[[noreturn]] void FailToRead(const std::filesystem::path& path) {
  throw Error(ErrorCode::kIo, path.string(), "cannot be read: " + SystemErrorText(errno));
}

}  // namespace

FileHandle OpenDirect(const std::filesystem::path& path, bool& direct) {
  int descriptor = direct ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT) : -1;
  if (descriptor < 0) {
    direct = false;
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (descriptor < 0) FailToRead(path);
  return FileHandle(descriptor);
}

std::size_t ReadAt(int file, std::byte* to, std::size_t bytes, std::uint64_t offset,
                   const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) FailToRead(path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace sluice::bench
