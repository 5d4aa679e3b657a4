// The folder that a conversion writes into: claimed, locked, and searched for an earlier run.
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
  // Creates the folder if needed and locks it for this process; the lock ends with the object or
  // with the process. Errors: kExists (the folder holds files that no conversion left there),
  // kState (another conversion is running in it), kIo.
  explicit DatasetFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  // The text of the plan that an earlier run left, or nullopt.
  const std::optional<std::string>& plan() const noexcept { return plan_; }

  // Writes a whole file, unless it has that content already.
  void Write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
  FileHandle lock_;
  std::optional<std::string> plan_;
};

// Removes files of this format under temporary names: unfinished ones, and finished ones that kept
// that name as well when power was lost. The caller must hold the folder's lock.
void RemoveLeftovers(const std::filesystem::path& folder);

// Locks a folder for this process until the handle or the process ends. Throws Error(kState) if
// another process holds the lock. If the file system cannot lock a folder, there is no lock.
FileHandle LockFolder(const std::filesystem::path& folder);

// Removes a folder that a conversion left, its plan last. If interrupted at any point, a later
// conversion into the folder finds either one it can continue or none.
void RemoveConversion(const std::filesystem::path& folder);

// Throws Error(kInvalidArgument) if the dataset would lie in the folder that the conversion scans,
// where it would read its own output.
void CheckFoldersApart(const ConvertSource& source, const std::filesystem::path& dataset);

}  // namespace sluice
