#include "tools/piped_archive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/input.h"
#include "tools/cli/quantity.h"

namespace sluice {

PipedArchive::PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop) {
  folder_ = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  folder_ += ".spool";
  path_ = folder_ / "standard-input.tar";
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw Error(ErrorCode::kIo, folder_.string(),
                "standard input cannot be stored here: " + error.message());
  }
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) Fail("cannot be created");
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(file_);
    throw Error(ErrorCode::kState, folder_.string(),
                "another command is storing its standard input here; wait until it ends");
  }
  try {
    if (ftruncate(file_, 0) != 0) Fail("cannot be emptied");
    Copy(stop);
  } catch (...) {
    std::filesystem::remove_all(folder_, error);
    close(file_);
    throw;
  }
}

PipedArchive::~PipedArchive() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  close(file_);
}

void PipedArchive::Fail(const char* what) const {
  throw Error(ErrorCode::kIo, path_.string(), std::string(what) + ": " + std::strerror(errno));
}

void PipedArchive::Copy(const std::stop_token& stop) {
  cli::ReadStandardInput(stop, [this](std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t written = write(file_, piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) Fail("standard input cannot be stored here");
      piece.remove_prefix(static_cast<std::size_t>(written));
    }
  });
}

Error NamedAsInput(const Error& error, const std::optional<PipedArchive>& piped) {
  if (!piped || error.file() != piped->path().string()) return error;
  return {error.code(), "standard input", error.place(), error.sentence()};
}

bool PutPipeAside(SourceArguments& source, const cli::Interrupt& interrupt,
                  std::optional<PipedArchive>& piped) {
  const auto begin = source.places.begin();
  if (!source.table.empty() || !source.paths.empty() || source.places.size() < 2) return true;
  if (std::find(begin, source.places.end() - 1, "-") == source.places.end() - 1) return true;
  if (source.places.size() > 2) {
    throw cli::UsageError(
        "\"-\" is one archive, from standard input; give no other source beside it");
  }
  try {
    piped.emplace(source.places.back(), interrupt.token());
  } catch (const Error& error) {
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fputs("sluice: interrupted while reading standard input; nothing was done\n", stderr);
    return false;
  }
  source.places[0] = piped->path().string();
  return true;
}

}  // namespace sluice
