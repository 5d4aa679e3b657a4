// The paths that lists, tables and label files name, and the files that they mean.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "writer/source/list/alike.h"
#include "writer/source/list/look.h"

namespace sluice {

// The folder as an absolute path that ends with its name: "data/" is "/home/me/data". Empty: the
// working folder.
std::filesystem::path NamedFolder(const std::filesystem::path& folder);

// The same place wherever a process runs: an absolute path; a URL as it is.
std::string AbsolutePlace(const std::filesystem::path& path);

// Makes keys of paths below the root of a source.
class RootPath {
 public:
  // An empty root means the working folder.
  explicit RootPath(const std::filesystem::path& folder) : root_(NamedFolder(folder)) {}
  // The list's root may be a URL: paths may then begin with it.
  explicit RootPath(const SourceList& list);

  // "./a//b.jpg" and "/root/a/b.jpg" give "a/b.jpg"; nullopt if the path is not below the root, or
  // is the root itself. Symbolic links are not resolved.
  std::optional<std::string> KeyOf(std::string_view path) const;

 private:
  std::filesystem::path root_;  // absolute, without "." and ".."
  std::string url_;             // with a slash at its end; empty: a folder
};

// Paths that were taken for others.
class TakenForOthers {
 public:
  void Add(const std::string& path, const std::string& other);
  // "3 paths do not exist as written, and were taken for others, such as abc, which is abc.jpg";
  // empty if there were none.
  std::string Report() const;

 private:
  std::size_t count_ = 0;
  std::string example_;
};

// Finds the images that are meant by paths at which no file exists.
class SameNames {
 public:
  // `listed` gives all paths of the list; it is called once if any does not exist.
  using Paths = std::set<std::string>;
  SameNames(std::filesystem::path root, std::function<Paths()> listed);

  // If `key` does not exist below the root, sets `key` and `look` to the image that is meant:
  // - the only image whose path differs in case or in how its letters are composed (AlikeFiles), or
  //   that has a further or a different ending, unless the list names that image itself; if there
  //   are several, `look.trouble` names two of them;
  // - "images/a.jpg" as seen from a folder above, if the root is such a folder "images";
  // - if the path has backslashes between the folders, as on Windows: the image at the path with
  //   slashes, or one that these two rules find for that path.
  void Resolve(std::string& key, Look& look);

  // As TakenForOthers::Report().
  std::string Report() const { return taken_.Report(); }

 private:
  bool TakeAlike(const std::string& wanted, std::string& key, Look& look);
  bool TakeOneOf(const std::vector<std::string>& paths, std::string& key, Look& look);
  bool TakeIfImage(std::string other, std::string& key, Look& look);
  void Take(std::string other, Look its, std::string& key, Look& look);

  std::filesystem::path root_;
  std::vector<std::filesystem::path> above_;  // the folders above the root, the nearest first
  RootPath below_;
  AlikeFiles files_;
  std::function<Paths()> list_;
  std::optional<Paths> listed_;
  TakenForOthers taken_;
};

}  // namespace sluice
