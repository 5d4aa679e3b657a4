// The files and folders below a source folder, by their names alone.
#pragma once

#include <filesystem>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

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
};

// Folders that systems and their tools leave beside people's own: "__MACOSX", "@eaDir".
bool IsSystemFolder(std::string_view name);
inline constexpr const char* kSystemFolder = "a folder of the system's own";

// Symbolic links are followed, except links to a folder that contains them. Names that begin with a
// dot are passed over, and so are the system's folders.
//
// Errors: kNotFound (no such folder), kInvalidArgument (not a folder), kIo (a folder that cannot be
// read), kState (stopped).
FolderTree WalkFolder(const std::filesystem::path& root, const std::stop_token& stop);

// The folders that a key names, from the top: "a/b/c.jpg" has "a" and "a/b".
void AddFoldersOf(const std::string& key, std::set<std::string>& folders);

}  // namespace sluice
