// Which states a disk may be in after a power loss, by what POSIX promises and nothing more.
//
// What was written to a file is sure to be there once the file was synced; until then any part of
// it may be. What a name stands for is sure once its folder was synced; until then each name may
// stand, independently of all others, for anything it has stood for since. (File systems keep more
// order than that; a program that relies on none of it is right on all of them.)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/interruption/file_record.h"

namespace sluice::test {

// File name -> content; nullopt where the folder itself is not there.
using DiskState = std::optional<std::map<std::string, std::string>>;

class DiskModel {
 public:
  // Of one folder without sub-folders, which is not there yet.
  explicit DiskModel(std::string folder) : folder_(std::move(folder)) {}

  // The folder was there, with these files, long before.
  void Begin(const std::map<std::string, std::string>& content);

  // Follows a call that has been done, on this folder or its parent. A link comes from another
  // folder; its `data` is what the file holds, which is on the disk already.
  void Apply(const RecordedCall& call);

  // Calls `visit` for each state that the disk may be in if the power fails now. Of the parts of a
  // file that may be there a few are taken: none, all, a beginning, all but holes, and the right
  // size full of zeros.
  void ForEachState(const std::function<void(const DiskState&)>& visit) const;

 private:
  struct File {
    std::string sure;     // content at the last sync
    std::string written;  // content a reader sees now
    bool synced() const { return sure == written; }
  };
  // What a name may stand for: the first is the one at the last sync of the folder, the last the
  // one a reader sees now. Indices of files, or none.
  using Meanings = std::vector<std::optional<std::size_t>>;

  static std::vector<std::string> ContentsOf(const File& file);
  std::string NameIn(const std::string& path) const;
  Meanings& MeaningsOf(const std::string& name);
  File& Now(const std::string& path);

  std::string folder_;
  bool made_ = false;  // the folder
  bool made_surely_ = false;
  bool removed_ = false;
  std::vector<File> files_;
  std::map<std::string, Meanings> names_;
};

}  // namespace sluice::test
