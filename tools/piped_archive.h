// Stores an archive from a pipe in a file, because samples are read in another order, and more than
// once.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>

#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "tools/cli/terminal.h"
#include "tools/convert_source.h"

namespace sluice {

// The file is in `dataset` + ".spool" (of a dataset at a URL, in the folder for temporary files)
// and is removed with the object. The next process removes a
// file that a killed one has left.
class PipedArchive {
 public:
  // Reads standard input to its end. Throws Error: kIo, kExists (the folder is not Sluice's),
  // kState (stopped, or another process puts its input aside for the same dataset).
  PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop);
  ~PipedArchive();
  PipedArchive(const PipedArchive&) = delete;
  PipedArchive& operator=(const PipedArchive&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Copy(const std::stop_token& stop);
  [[noreturn]] void Fail(const char* what) const;

  WorkFolder folder_;
  std::filesystem::path path_;
  int file_ = -1;
};

// If the error is about the spool file, whose name says nothing to a user, returns it as one of
// standard input.
Error NamedAsInput(const Error& error, const std::optional<PipedArchive>& piped);

// If the source is "-", stores it in `piped` and makes that the source. False if it was interrupted
// meanwhile; the user has been told then. Throws Error and UsageError.
bool PutPipeAside(SourceArguments& source, const cli::Interrupt& interrupt,
                  std::optional<PipedArchive>& piped);

}  // namespace sluice
