#include "writer/source/folder_walk.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct FolderId {
  dev_t device;
  ino_t inode;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

class FolderWalk {
 public:
  FolderWalk(const std::filesystem::path& root, const std::stop_token& stop)
      : root_(root), stop_(stop) {}

  FolderTree Run() {
    struct stat info {};
    if (stat(root_.c_str(), &info) != 0) {
      throw Error(ErrorCode::kNotFound, root_.string(),
                  "the source folder cannot be opened: " + SystemErrorText(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
      throw Error(ErrorCode::kInvalidArgument, root_.string(),
                  "is not a folder; give the folder that holds the images");
    }
    ancestors_.push_back({info.st_dev, info.st_ino});
    for (const std::string& name : Names(root_))
      LookAt(name);
    return std::move(tree_);
  }

 private:
  // The folder's entries, sorted by bytes.
  std::vector<std::string> Names(const std::filesystem::path& folder) const {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (stop_.stop_requested()) ThrowStopped();
      names.push_back(entry->path().filename().native());
    }
    if (error) {
      throw Error(ErrorCode::kIo, folder.string(), "the folder cannot be read: " + error.message());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void LookAt(const std::string& key) {
    if (stop_.stop_requested()) ThrowStopped();
    if (ignored_.Take(key, tree_.passed_over)) return;
    struct stat info {};
    if (stat((root_ / key).c_str(), &info) != 0) {
      tree_.broken.push_back({key, "cannot be examined: " + SystemErrorText(errno)});
    } else if (S_ISDIR(info.st_mode)) {
      if (ignored_.Take(key + "/", tree_.passed_over)) return;
      Enter(key, {info.st_dev, info.st_ino});
    } else if (S_ISREG(info.st_mode)) {
      tree_.files.push_back({key, static_cast<std::uint64_t>(info.st_size)});
    } else {
      tree_.passed_over.push_back({key, "not a regular file"});
    }
  }

  void Enter(const std::string& key, FolderId id) {
    if (std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      tree_.passed_over.push_back({key, "a link to a folder that contains it"});
      tree_.warnings.push_back(ToUtf8(key) +
                               ": links to a folder that contains it, and was not followed");
      return;
    }
    tree_.folders.insert(key);
    ancestors_.push_back(id);
    for (const std::string& name : Names(root_ / key)) {
      std::string inner = key;
      inner.append("/").append(name);
      LookAt(inner);
    }
    ancestors_.pop_back();
  }

  const std::filesystem::path& root_;
  const std::stop_token& stop_;
  FolderTree tree_;
  IgnoredFiles ignored_;
  std::vector<FolderId> ancestors_;  // the current folder and those above it
};

}  // namespace

std::optional<IgnoredPart> FindIgnoredPart(std::string_view key) {
  constexpr std::string_view kSystemFolders[] = {"__MACOSX",
                                                 "@eaDir",
                                                 "#recycle",
                                                 "@Recycle",
                                                 "$RECYCLE.BIN",
                                                 "lost+found",
                                                 "System Volume Information",
                                                 "__pycache__"};
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view name = key.substr(begin, end - begin);
    if (name.starts_with('.') && name != "." && name != "..")
      return IgnoredPart{key.substr(0, end), "hidden"};
    const bool folder = end < key.size();
    if (folder && std::find(std::begin(kSystemFolders), std::end(kSystemFolders), name) !=
                      std::end(kSystemFolders)) {
      return IgnoredPart{key.substr(0, end), "a folder of the system's own"};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

bool IgnoredFiles::Take(std::string_view key, std::vector<LeftOut>& passed_over,
                        std::string_view place) {
  const std::optional<IgnoredPart> part = FindIgnoredPart(key);
  if (!part) return false;
  std::string path(place);
  path += part->path;
  if (seen_.contains(path)) return true;
  passed_over.push_back({path, part->reason});
  seen_.insert(std::move(path));
  return true;
}

FolderTree WalkFolder(const std::filesystem::path& root, const std::stop_token& stop) {
  return FolderWalk(root, stop).Run();
}

void AddFoldersOf(const std::string& key, std::set<std::string>& folders) {
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    folders.insert(key.substr(0, slash));
  }
}

}  // namespace sluice
