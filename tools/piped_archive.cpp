// Stores an archive that comes through standard input in a file (PipedArchive in convert.h).
// StorePipedInput() calls `check` before it reads the first byte, so that a dataset that is refused
// does not cost the wait for the whole archive. The constructor reads all of the input. If that
// fails, the destructor does not run, so the constructor itself closes the file; the folder is a
// member that removes itself. Only a "-" among several sources is an error here: sources without a
// "-" need no such file.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"
#include "tools/convert.h"

namespace sluice {

namespace {

std::filesystem::path SpoolOf(const std::filesystem::path& dataset) {
  if (IsStoreUrl(dataset.string())) {
    return std::filesystem::temp_directory_path() /
           ("sluice-" + std::to_string(getpid()) + ".spool");
  }
  std::filesystem::path folder = std::filesystem::absolute(dataset).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  folder += ".spool";
  return folder;
}

}  // namespace

PipedArchive::PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop)
    : folder_(SpoolOf(dataset)), path_(folder_.path() / "standard-input.tar") {
  folder_.Empty();
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) Fail("cannot be created");
  try {
    Copy(stop);
  } catch (...) {
    close(file_);
    throw;
  }
}

PipedArchive::~PipedArchive() {
  close(file_);
}

void PipedArchive::Fail(const char* what) const {
  throw Error(ErrorCode::kIo, path_.string(), std::string(what) + ": " + std::strerror(errno));
}

void PipedArchive::Copy(const std::stop_token& stop) {
  cli::ReadStandardInput(stop, [this](std::string_view piece) {
    if (!cli::WriteAll(file_, piece)) Fail("standard input cannot be stored here");
  });
}

Error NamedAsInput(const Error& error, const std::optional<PipedArchive>& piped) {
  if (!piped || error.file() != piped->path().string()) return error;
  return {error.code(), "standard input", error.place(), error.sentence()};
}

bool StorePipedInput(SourceArguments& source, const cli::Interrupt& interrupt,
                     std::optional<PipedArchive>& piped,
                     void (*check)(const std::filesystem::path& dataset)) {
  const auto begin = source.places.begin();
  if (!source.table.empty() || !source.paths.empty() || source.places.size() < 2) return true;
  if (std::find(begin, source.places.end() - 1, "-") == source.places.end() - 1) return true;
  if (source.places.size() > 2) {
    throw cli::UsageError(
        "\"-\" is one archive, from standard input; give no other source with it");
  }
  check(source.places.back());
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
