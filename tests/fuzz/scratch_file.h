// A file in memory, with a path, for readers that take one.
#pragma once

#include <filesystem>

#include "format/disk/file.h"

namespace sluice::fuzz {

class ScratchFile {
 public:
  explicit ScratchFile(Bytes content);

  // "/proc/self/fd", and the file's name in it.
  static std::filesystem::path folder() { return "/proc/self/fd"; }
  std::string name() const { return std::to_string(file_.get()); }
  std::filesystem::path path() const { return folder() / name(); }

 private:
  FileHandle file_;
};

}  // namespace sluice::fuzz
