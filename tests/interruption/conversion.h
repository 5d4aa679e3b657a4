// A small conversion to interrupt: sources, the command, and what it makes when nobody interrupts.
#pragma once

#include <map>

#include "tests/temporary_folder.h"
#include "tests/tools/run.h"

namespace sluice::test {

using Contents = std::map<std::string, std::string>;  // file name -> content

class Conversion {
 public:
  // At least `shards` shards of eight raw pictures each; two sources are broken. `direct`: shards
  // are written past the page cache, but not those of expected().
  explicit Conversion(int shards, bool direct = false);

  const TemporaryFolder& folder() const noexcept { return folder_; }
  std::filesystem::path source() const { return folder_ / "source"; }
  // What an uninterrupted run leaves in its folder.
  const Contents& expected() const noexcept { return expected_; }
  bool direct() const noexcept { return direct_; }

  Words Command(const std::filesystem::path& data) const;
  // Runs the command. `action`: for the seam (file_record.h), empty for none; `record`: likewise.
  Outcome Run(const std::filesystem::path& data, const std::string& action = {},
              const std::filesystem::path& record = {}) const;
  // What a program gets to run with the seam.
  static RunOptions WithSeam(const std::filesystem::path& data, const std::string& action,
                             const std::filesystem::path& record = {});

  // Every reading command gives a good answer of a whole dataset, or a clear error.
  void CheckReaders(const std::filesystem::path& data) const;
  // The command, run again, ends with the bytes of an uninterrupted run.
  void CheckResumes(const std::filesystem::path& data) const;

 private:
  TemporaryFolder folder_;
  bool direct_ = false;
  Contents expected_;
};

// As ContentsOf() of tests/writer/stored.h; nothing for a folder that is not there.
Contents ContentsIfAny(const std::filesystem::path& folder);

}  // namespace sluice::test
