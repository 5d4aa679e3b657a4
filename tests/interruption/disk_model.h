// The possible states of a disk after a power loss, if only the promises of POSIX hold.
//
// A file's data is certainly on the disk once the file was synced; until then, any part of it may
// be. The file that a name refers to is certain once the folder was synced; until then, each name
// may, independently of all others, refer to any file that it has referred to since the last sync.
// (Real file systems promise more. A program that relies only on POSIX is correct on all of them.)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/interruption/file_record.h"

namespace sluice::test {

// File name -> content; nullopt if the folder does not exist.
using DiskState = std::optional<std::map<std::string, std::string>>;

class DiskModel {
 public:
  // Models one folder without sub-folders, which does not exist yet.
  explicit DiskModel(std::string folder) : folder_(std::move(folder)) {}

  // Begins with a folder that exists and holds these files; all of it is synced.
  void Begin(const std::map<std::string, std::string>& content);

  // Applies a finished call on this folder or its parent. For a link, which comes from another
  // folder, `data` is the file's content; that content is on the disk already.
  void Apply(const RecordedCall& call);

  // Calls `visit` for each state that the disk may be in if the power fails now. For a file with
  // unsynced data it tries five contents: the content at the last sync, everything written, its
  // first half, everything with holes, and only zeros.
  void ForEachState(const std::function<void(const DiskState&)>& visit) const;

 private:
  struct File {
    std::string sure;     // content at the last sync
    std::string written;  // content a reader sees now
    bool synced() const { return sure == written; }
  };
  // The files that a name may refer to: first the file at the folder's last sync, last the file
  // that a reader sees now. Indices of files; nullopt: the name does not exist.
  using Meanings = std::vector<std::optional<std::size_t>>;

  static std::vector<std::string> ContentsOf(const File& file);
  std::string NameIn(const std::string& path) const;
  Meanings& MeaningsOf(const std::string& name);
  File& Now(const std::string& path);

  std::string folder_;
  bool made_ = false;         // the folder was created
  bool made_surely_ = false;  // and its parent was synced since
  bool removed_ = false;      // the folder was removed
  std::vector<File> files_;
  std::map<std::string, Meanings> names_;
};

}  // namespace sluice::test
