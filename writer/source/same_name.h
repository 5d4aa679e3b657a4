// Finds the file that a label file or a table means, where the path that it gives leads nowhere.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "writer/source/look.h"
#include "writer/source/root_path.h"

namespace sluice {

class SameNames {
 public:
  explicit SameNames(std::filesystem::path root);

  // If there is no file `key` below the root, sets `key` and `look` to the image that is meant:
  // - the only one beside it with that name and an ending; if there are several, `look.trouble`
  //   names them;
  // - "images/a.jpg" as seen from a folder above, if the root is such a folder "images";
  // - either with "\" between the folders, as on Windows.
  void Resolve(std::string& key, Look& look);

  // "3 paths are not there as they stand, such as abc, which is abc.jpg"; empty if there were none.
  std::string Report() const;

 private:
  // The names in a folder by what comes before their last dot.
  using Names = std::multimap<std::string, std::string>;
  const Names& NamesIn(const std::string& folder);
  bool TakeWithEnding(const std::string& wanted, std::string& key, Look& look);
  bool TakeIfImage(std::string other, std::string& key, Look& look);
  void Take(std::string other, Look its, std::string& key, Look& look);

  std::filesystem::path root_;
  std::vector<std::filesystem::path> above_;  // the folders above the root, the nearest first
  RootPath below_;
  std::map<std::string, Names> folders_;
  std::size_t resolved_ = 0;
  std::string example_;
};

}  // namespace sluice
