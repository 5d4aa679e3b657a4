// Folders that measurements write to.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <sluice/error.h>

namespace sluice::bench {

// A folder for temporary files, which is removed with the object.
class ScratchFolder {
 public:
  // In `parent`; if empty, in the folder for temporary files (TMPDIR). Throws Error(kIo).
  explicit ScratchFolder(const std::filesystem::path& parent = {}) {
    const std::filesystem::path place =
        parent.empty() ? std::filesystem::temp_directory_path() : parent;
    std::string name = (place / "sluice-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(ErrorCode::kIo, place.string(), "a temporary folder cannot be created in it");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// Claims a folder that a command keeps from run to run and whose files it overwrites. Makes the
// folder, or takes one that is empty or that an earlier run made: a file in it says so.
// Throws Error(kState) for any other folder, since its content would be lost; Error(kIo).
void ClaimWorkFolder(const std::filesystem::path& folder);

// Checks the value of --work for CLI11: empty if it can name a folder, else a sentence.
std::string CheckWorkFolder(const std::string& folder);

}  // namespace sluice::bench
