// Names are sorted, so that the result does not depend on the order in which a file system lists
// them. Three dangers of symbolic links have a guard each: a link out of the source (LiesOutside),
// a link to a folder above it (`ancestors_`), and links whose paths multiply (`followed_`).
// The order of the tests in LookAt() matters. Ignored names come first, so nothing below them is
// examined. A link out is refused before anything in its target is listed. Names that are ignored
// only for folders need a second test, once it is known that this is a folder.
#include "writer/source/list/folder_walk.h"

#include <algorithm>
#include <cerrno>
#include <compare>

#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/list/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct FolderId {
  dev_t device;
  ino_t inode;
  friend auto operator<=>(const FolderId&, const FolderId&) = default;
};

constexpr const char* kLinkOut = "a link out of the source, which --follow-links takes";

// Whether `path`, after its links are followed, lies outside of `inside`, a folder's path without
// links. Also false for a broken link, which gets another message.
bool LiesOutside(const std::filesystem::path& path, const std::filesystem::path& inside) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) return false;
  return std::mismatch(inside.begin(), inside.end(), target.begin(), target.end()).first !=
         inside.end();
}

class FolderWalk {
 public:
  FolderWalk(const std::filesystem::path& root, const FolderWalkOptions& options,
             const std::stop_token& stop)
      : root_(root), options_(options), stop_(stop) {}

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
    std::error_code error;
    inside_ = std::filesystem::canonical(root_, error);
    if (error)
      throw Error(ErrorCode::kIo, root_.string(), "cannot be examined: " + error.message());
    ancestors_.push_back({info.st_dev, info.st_ino});
    for (const std::string& name : Names(root_))
      LookAt(name);
    if (links_out_ > 0) {
      tree_.warnings.push_back(
          std::to_string(links_out_) + (links_out_ == 1 ? " link leads" : " links lead") +
          " out of the source and " + (links_out_ == 1 ? "was" : "were") +
          " not followed, such as " + ToUtf8(link_out_) + "; --follow-links includes " +
          (links_out_ == 1 ? "its target" : "their targets"));
    }
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
      // The folder's listing says which entries are files: no stat() for each.
      if (!options_.files && !entry->is_symlink() && entry->is_regular_file()) continue;
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
    if (tree_.cut || ignored_.Take(key, tree_.passed_over)) return;
    struct stat link {};
    struct stat info {};
    const std::filesystem::path path = root_ / key;
    const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    if (is_link && !options_.follow_links && LiesOutside(path, inside_)) {
      if (links_out_++ == 0) link_out_ = key;
      tree_.passed_over.push_back({key, kLinkOut});
    } else if (stat(path.c_str(), &info) != 0) {
      tree_.broken.push_back({key, "cannot be examined: " + SystemErrorText(errno)});
    } else if (S_ISDIR(info.st_mode) && is_link &&
               !followed_.insert({link.st_dev, link.st_ino}).second) {
      tree_.passed_over.push_back({key, "a link that was followed from another folder"});
    } else if (S_ISDIR(info.st_mode)) {
      if (ignored_.Take(key + "/", tree_.passed_over)) return;
      Enter(key, {info.st_dev, info.st_ino}, is_link);
    } else if (S_ISREG(info.st_mode) && tree_.files.size() == options_.max_files) {
      tree_.cut = true;
    } else if (S_ISREG(info.st_mode)) {
      tree_.files.push_back({key, static_cast<std::uint64_t>(info.st_size)});
    } else {
      tree_.passed_over.push_back({key, "not a regular file"});
    }
  }

  // Only a link can lead back to a folder that contains it, at once or through folders in its
  // target. Without a link above it, a folder is entered whatever its inode number is: some file
  // systems (FUSE, 9p) give several folders the same one.
  void Enter(const std::string& key, FolderId id, bool is_link) {
    const bool may_lead_back = is_link || links_above_ > 0;
    if (may_lead_back && std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      tree_.passed_over.push_back({key, "a link to a folder that contains it"});
      tree_.warnings.push_back(ToUtf8(key) +
                               ": links to a folder that contains it, and was not followed");
      return;
    }
    tree_.folders.insert(key);
    if (!options_.enter) return;
    links_above_ += is_link ? 1 : 0;
    ancestors_.push_back(id);
    for (const std::string& name : Names(root_ / key)) {
      std::string inner = key;
      inner.append("/").append(name);
      LookAt(inner);
    }
    ancestors_.pop_back();
    links_above_ -= is_link ? 1 : 0;
  }

  const std::filesystem::path& root_;
  const FolderWalkOptions options_;
  const std::stop_token& stop_;
  std::filesystem::path inside_;  // the root without links
  FolderTree tree_;
  IgnoredFiles ignored_;
  int links_above_ = 0;              // how many of the current folder and those above are links
  std::vector<FolderId> ancestors_;  // the current folder and those above it
  // The links to folders that were followed. Each is followed once: if folders hold several links
  // to folders that hold several links, and so on, the number of paths is exponential.
  std::set<FolderId> followed_;
  std::uint64_t links_out_ = 0;  // links that lead out of the root and were not followed
  std::string link_out_;         // the key of the first of them
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

FolderTree WalkFolder(const std::filesystem::path& root, const FolderWalkOptions& options,
                      const std::stop_token& stop) {
  return FolderWalk(root, options, stop).Run();
}

LinksOut::LinksOut(const std::filesystem::path& folder, bool follow)
    : folder_(folder.empty() ? "." : folder) {
  std::error_code ignored;  // WalkFolder() reports what is wrong with it
  if (!follow) inside_ = std::filesystem::canonical(folder_, ignored);
}

bool LinksOut::LeadsOut(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string above = slash == std::string::npos ? "" : file.substr(0, slash);
  const auto [folder, added] = folders_.try_emplace(above, false);
  if (added) folder->second = LiesOutside(folder_ / above, inside_);
  std::error_code ignored;
  return folder->second || (std::filesystem::is_symlink(folder_ / file, ignored) &&
                            LiesOutside(folder_ / file, inside_));
}

bool LinksOut::Take(const std::string& file, const std::string& key,
                    std::vector<LeftOut>& passed_over) {
  if (inside_.empty() || !LeadsOut(file)) return false;
  if (count_++ == 0) first_ = file;
  passed_over.push_back({key, kLinkOut});
  return true;
}

void LinksOut::Warn(std::vector<std::string>& warnings) const {
  if (count_ == 0) return;
  const bool one = count_ == 1;
  warnings.push_back(std::to_string(count_) + (one ? " file lies" : " files lie") +
                     " behind links that lead out of " + ToUtf8(folder_.native()) + " and " +
                     (one ? "was" : "were") + " left out, such as " + ToUtf8(first_) +
                     "; --follow-links takes " + (one ? "it" : "them"));
}

void AddFoldersOf(const std::string& key, std::set<std::string>& folders) {
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    folders.insert(key.substr(0, slash));
  }
}

}  // namespace sluice
