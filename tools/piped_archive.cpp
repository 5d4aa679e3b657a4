#include "tools/piped_archive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice {

namespace {
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kLookMilliseconds = 100;  // for a stop request, while nothing comes
}  // namespace

PipedArchive::PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop) {
  folder_ = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  folder_ += ".spool";
  path_ = folder_ / "standard-input.tar";
  std::error_code error;
  std::filesystem::create_directory(folder_, error);
  if (error) {
    throw Error(ErrorCode::kIo, folder_.string(),
                "standard input cannot be put aside here: " + error.message());
  }
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) Fail("cannot be created");
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(file_);
    throw Error(ErrorCode::kState, folder_.string(),
                "another command puts its standard input aside here; wait for its end");
  }
  try {
    if (ftruncate(file_, 0) != 0) Fail("cannot be emptied");
    Copy(stop);
  } catch (...) {
    close(file_);
    std::filesystem::remove_all(folder_, error);
    throw;
  }
}

PipedArchive::~PipedArchive() {
  close(file_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PipedArchive::Fail(const char* what) const {
  throw Error(ErrorCode::kIo, path_.string(), std::string(what) + ": " + std::strerror(errno));
}

void PipedArchive::Copy(const std::stop_token& stop) {
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    if (stop.stop_requested()) throw Error(ErrorCode::kState, "the conversion was stopped");
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kLookMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::kIo, "standard input",
                  std::string("cannot be read: ") + std::strerror(errno));
    }
    if (got == 0) return;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written =
          write(file_, piece.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) Fail("standard input cannot be put aside");
      done += written;
    }
  }
}

bool PutPipeAside(SourceArguments& source, const cli::Interrupt& interrupt,
                  std::optional<PipedArchive>& piped) {
  const auto begin = source.places.begin();
  if (!source.table.empty() || !source.paths.empty() || source.places.size() < 2) return true;
  if (std::find(begin, source.places.end() - 1, "-") == source.places.end() - 1) return true;
  if (source.places.size() > 2) {
    throw cli::UsageError(
        "\"-\" is one archive, from standard input; no other can stand beside it");
  }
  try {
    piped.emplace(source.places.back(), interrupt.token());
  } catch (const Error& error) {
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fputs("sluice: interrupted before all of standard input had come; nothing was done\n",
               stderr);
    return false;
  }
  source.places[0] = piped->path().string();
  return true;
}

}  // namespace sluice
