// The files and folders below a source folder, by their names alone.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

// For WalkedFile::bytes, if the size is not known yet.
inline constexpr std::uint64_t kUnknownBytes = UINT64_MAX;

struct WalkedFile {
  std::string key;  // path relative to the root, with '/'; raw bytes
  std::uint64_t bytes = 0;
};

struct FolderTree {
  std::vector<WalkedFile> files;  // regular files of any content
  std::set<std::string> folders;  // all below the root, by key
  std::vector<LeftOut> broken;    // cannot be examined
  std::vector<LeftOut> passed_over;
  std::vector<std::string> warnings;
  bool cut = false;  // there are more files than FolderWalkOptions::max_files
};

// The part of a path that keeps its file out of every source: a name that begins with a dot, or a
// folder that systems and their tools leave next to users' own ("__MACOSX", "@eaDir"). The same
// rule holds for folders, lists of paths, stores and archives. Only a path that a table or a label
// file names is taken in spite of it.
struct IgnoredPart {
  std::string_view path;    // up to that name: of "a/.git/x/1.jpg" it is "a/.git"
  const char* reason = "";  // "hidden"
};
// `key`: a path below its source's root; one that ends in '/' is a folder's.
std::optional<IgnoredPart> FindIgnoredPart(std::string_view key);

// Lists what FindIgnoredPart() finds as passed over; a folder is listed once for all of its files.
class IgnoredFiles {
 public:
  // Whether the file is ignored. The first time, adds `place` followed by the part to the list.
  bool Take(std::string_view key, std::vector<LeftOut>& passed_over, std::string_view place = {});

 private:
  std::set<std::string, std::less<>> seen_;
};

struct FolderWalkOptions {
  bool follow_links = false;  // also follow links that lead out of the root
  bool enter = true;          // false: only what lies directly in the root
  bool files = true;          // false: only folders and links, so that no other file is examined
  std::uint64_t max_files = UINT64_MAX;
};

// Lists the files and folders below `root`, without what FindIgnoredPart() finds. Symbolic links to
// places below the root are followed, each link to a folder once, except links to a folder that
// contains them; links out of the root only with `follow_links`.
//
// Errors: kNotFound (no such folder), kInvalidArgument (not a folder), kIo (a folder that cannot be
// read), kState (stopped).
FolderTree WalkFolder(const std::filesystem::path& root, const FolderWalkOptions& options,
                      const std::stop_token& stop);

// The rule about symbolic links for paths that lists, tables and label files name, and for masks:
// as in WalkFolder(), links out of the folder are followed only if the user asks for it. The folder
// itself may be a link.
class LinksOut {
 public:
  // With `follow`, or for a URL, finds no link.
  LinksOut(const std::filesystem::path& folder, bool follow);

  // Whether a link on the path of `file`, from which the sample `key` is made, leads out of the
  // folder. If so, lists the sample as passed over.
  bool Take(const std::string& file, const std::string& key, std::vector<LeftOut>& passed_over);
  // Adds a warning if there were any such samples.
  void Warn(std::vector<std::string>& warnings) const;

 private:
  bool LeadsOut(const std::string& file);

  std::filesystem::path folder_;
  std::filesystem::path inside_;         // the folder without links; empty: links are followed
  std::map<std::string, bool> folders_;  // folders of files, and whether they lie outside
  std::uint64_t count_ = 0;              // files that were listed as passed over
  std::string first_;                    // the first of them
};

// The folders that a key names, from the top: "a/b/c.jpg" has "a" and "a/b".
void AddFoldersOf(const std::string& key, std::set<std::string>& folders);

}  // namespace sluice
