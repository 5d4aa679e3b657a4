// The folder that a conversion writes into: claimed, locked, and looked through for an earlier run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sluice/convert_source.h>

#include "format/disk/file.h"

namespace sluice {

inline constexpr const char* kSkippedName = "skipped.tsv";

class DatasetFolder {
 public:
  // Creates the folder if need be and locks it for this process; the lock ends with the object, or
  // with the process. Errors: kExists (it holds something that no conversion left there), kState
  // (another conversion is at work in it), kIo.
  explicit DatasetFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  // The text of the plan that an earlier run left, or nullopt.
  const std::optional<std::string>& plan() const noexcept { return plan_; }

  // Writes a file whole, unless it has that content already.
  void Write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
  FileHandle lock_;
  std::optional<std::string> plan_;
};

// Removes files of this format's names that were not finished, or were and kept that name as well
// when power was lost. Whoever calls it has the folder's lock.
void RemoveLeftovers(const std::filesystem::path& folder);

// Locks a folder for this process until the handle or the process ends. Throws Error(kState) if
// another one has it. File systems that cannot lock a folder go without.
FileHandle LockFolder(const std::filesystem::path& folder);

// Removes a folder that a conversion has left, its plan last: whatever comes between, a conversion
// into the folder finds one that it can go on with, or none.
void RemoveConversion(const std::filesystem::path& folder);

// Throws Error(kInvalidArgument) if the dataset would lie in the folder that a conversion walks
// through, where it would read what it writes.
void CheckFoldersApart(const ConvertSource& source, const std::filesystem::path& dataset);

}  // namespace sluice
