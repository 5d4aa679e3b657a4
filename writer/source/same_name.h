// Finds the file that a label file or a table names without its ending.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "writer/source/look.h"

namespace sluice {

class SameNames {
 public:
  explicit SameNames(std::filesystem::path root) : root_(std::move(root)) {}

  // If there is no file `key` below the root, and exactly one image beside it with that name and an
  // ending, sets `key` and `look` to that one. If there are several, `look.trouble` names them.
  void Resolve(std::string& key, Look& look);

  // "3 paths have no ending, such as abc, which is abc.jpg"; empty if there were none.
  std::string Report() const;

 private:
  // The names in a folder by what comes before their last dot.
  using Names = std::multimap<std::string, std::string>;
  const Names& NamesIn(const std::string& folder);

  std::filesystem::path root_;
  std::map<std::string, Names> folders_;
  std::size_t resolved_ = 0;
  std::string example_;
};

}  // namespace sluice
