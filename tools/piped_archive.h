// An archive that comes through a pipe, as a file: samples are read in another order than they
// come, and more than once, so it is put aside first.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>

#include <sluice/error.h>

#include "tools/cli/interrupt.h"
#include "tools/convert_source.h"

namespace sluice {

// Lies in `dataset` + ".spool" and goes with the object. What a process that was killed has left is
// overwritten by the next.
class PipedArchive {
 public:
  // Reads standard input to its end. Throws Error: kIo, kState (stopped, or another process puts
  // its input aside for the same dataset).
  PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop);
  ~PipedArchive();
  PipedArchive(const PipedArchive&) = delete;
  PipedArchive& operator=(const PipedArchive&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Copy(const std::stop_token& stop);
  [[noreturn]] void Fail(const char* what) const;

  std::filesystem::path folder_;
  std::filesystem::path path_;
  int file_ = -1;
};

// The error as one of standard input, where it is about the file that this was put aside in, which
// is of no use to anybody.
Error NamedAsInput(const Error& error, const std::optional<PipedArchive>& piped);

// Where the source is "-", puts it aside in `piped` and names that as the source. False if it was
// interrupted meanwhile, which has been said then. Throws Error and UsageError.
bool PutPipeAside(SourceArguments& source, const cli::Interrupt& interrupt,
                  std::optional<PipedArchive>& piped);

}  // namespace sluice
