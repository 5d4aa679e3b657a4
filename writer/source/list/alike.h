// Names that are the same to people though their bytes differ: in upper and lower case, or in how
// an accented letter is encoded (as one character, or as a letter and an accent).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// UTF-8 with each accent after its letter, as Macs write names (Unicode's NFD). A text that is not
// UTF-8 stays as it is.
std::string Decomposed(std::string_view text);

// The same text for all names that are alike: Decomposed(), and without differences of case as
// Unicode folds them ("STRASSE" is alike to "Straße"). If the name is not UTF-8, only its ASCII
// letters are folded.
std::string AlikeForm(std::string_view name);
// The same text for all values of a column that mean the same: numbers by their value ("7", "7.0",
// "007"), other texts by AlikeForm().
std::string AlikeValue(std::string_view value);

// Finds the files below a folder whose names are like a given one. Folders are listed when a name
// in them is first asked for.
class AlikeFiles {
 public:
  explicit AlikeFiles(std::filesystem::path root) : root_(std::move(root)) {}

  // The paths that differ from `path` only in case or in how letters are composed, in any of its
  // parts. If some paths have a part exactly as `path` has it, paths without that part are left
  // out.
  std::vector<std::string> Like(const std::string& path) { return Find(path, &Names::by_name); }
  // The same for paths that have a further ending: "a/b.jpg" for "a/b" and for "A/B".
  std::vector<std::string> WithEnding(const std::string& path) {
    return Find(path, &Names::by_stem);
  }

 private:
  // A folder's names by AlikeForm(), which is the same for all names that are alike.
  using ByForm = std::multimap<std::string, std::string>;
  struct Names {
    ByForm by_name;
    ByForm by_stem;  // by what comes before their last dot
  };
  const Names& NamesIn(const std::string& folder);
  std::vector<std::string> Find(const std::string& path, ByForm Names::*by);

  std::filesystem::path root_;
  std::map<std::string, Names> folders_;
};

}  // namespace sluice
