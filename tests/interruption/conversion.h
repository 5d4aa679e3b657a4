// A small conversion to interrupt: its sources, the command, and the result of an uninterrupted
// run.
#pragma once

#include <map>

#include "tests/temporary_folder.h"
#include "tests/tools/run.h"

namespace sluice::test {

using Contents = std::map<std::string, std::string>;  // file name -> content

class Conversion {
 public:
  // Makes sources for at least `shards` shards of eight raw pictures each; two sources are broken.
  // `direct`: the command writes shards past the page cache; the run for expected() does not.
  explicit Conversion(int shards, bool direct = false);

  const TemporaryFolder& folder() const noexcept { return folder_; }
  std::filesystem::path source() const { return folder_ / "source"; }
  // The folder's content after an uninterrupted run.
  const Contents& expected() const noexcept { return expected_; }
  bool direct() const noexcept { return direct_; }

  Words Command(const std::filesystem::path& data) const;
  // Runs the command. `action` and `record` are for the seam (file_record.h); if both are empty,
  // the command runs without it.
  Outcome Run(const std::filesystem::path& data, const std::string& action = {},
              const std::filesystem::path& record = {}) const;
  // The options that run a program with the seam.
  static RunOptions WithSeam(const std::filesystem::path& data, const std::string& action,
                             const std::filesystem::path& record = {});

  // Checks that `inspect`, `verify` and `sluice-bench epoch` succeed if the dataset is whole, and
  // otherwise fail with a clear error.
  void CheckReaders(const std::filesystem::path& data) const;
  // Runs the command again, and checks that it ends with the bytes of an uninterrupted run.
  void CheckResumes(const std::filesystem::path& data) const;

 private:
  TemporaryFolder folder_;
  bool direct_ = false;
  Contents expected_;
};

// Like ContentsOf() of tests/writer/stored.h; empty if the folder does not exist.
Contents ContentsIfAny(const std::filesystem::path& folder);

}  // namespace sluice::test
