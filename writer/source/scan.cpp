#include "writer/source/scan.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/parallel.h"
#include "writer/source/look.h"
#include "writer/source/root_path.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::int32_t kTopFolder = -1;  // the label of files that are in no sub-folder

struct FolderId {
  dev_t device;
  ino_t inode;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

struct Found {
  std::vector<Source> files;  // regular files of any content
  std::vector<std::string> top_folders;
  SourceList list;
};

class FolderWalk {
 public:
  FolderWalk(const std::filesystem::path& root, const std::stop_token& stop, Found& found)
      : root_(root), stop_(stop), found_(found) {}

  void Run() {
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
    for (const std::string& name : Names(root_)) {
      LookAt(name, name, kTopFolder);
    }
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

  void LookAt(const std::string& name, const std::string& key, std::int32_t label) {
    if (stop_.stop_requested()) ThrowStopped();
    if (name[0] == '.') {
      found_.list.passed_over.push_back({key, "hidden"});
      return;
    }
    struct stat info {};
    if (stat((root_ / key).c_str(), &info) != 0) {
      found_.list.broken.push_back({key, "cannot be examined: " + SystemErrorText(errno)});
    } else if (S_ISDIR(info.st_mode)) {
      Enter(key, {info.st_dev, info.st_ino}, label);
    } else if (S_ISREG(info.st_mode)) {
      found_.files.push_back({key, static_cast<std::uint64_t>(info.st_size), label});
    } else {
      found_.list.passed_over.push_back({key, "not a regular file"});
    }
  }

  void Enter(const std::string& key, FolderId id, std::int32_t label) {
    if (std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      found_.list.passed_over.push_back({key, "a link to a folder that contains it"});
      found_.list.warnings.push_back(ToUtf8(key) +
                                     ": links to a folder that contains it, and was not followed");
      return;
    }
    if (label == kTopFolder) {
      label = static_cast<std::int32_t>(found_.top_folders.size());
      found_.top_folders.push_back(key);
    }
    ancestors_.push_back(id);
    for (const std::string& name : Names(root_ / key)) {
      std::string inner = key;
      inner.append("/").append(name);
      LookAt(name, inner, label);
    }
    ancestors_.pop_back();
  }

  const std::filesystem::path& root_;
  const std::stop_token& stop_;
  Found& found_;
  std::vector<FolderId> ancestors_;  // the current folder and those above it
};

// Sorts the files into sources, broken files and files that are not images. Returns the first image
// in the top folder and the first in a sub-folder.
struct FirstImages {
  std::optional<std::string> direct;
  std::optional<std::string> in_class;
};

FirstImages Sort(std::vector<Source>& files, const std::vector<Look>& looks, SourceList& list) {
  FirstImages first;
  for (std::size_t i = 0; i < files.size(); ++i) {
    Source& file = files[i];
    const Look& look = looks[i];
    if (look.trouble.empty() && look.sniffed.kind != ImageKind::kNone) {
      std::optional<std::string>& place = file.label == kTopFolder ? first.direct : first.in_class;
      if (!place) place = file.key;
    }
    if (!TakeOrLeave(look, file.key, list)) continue;
    file.bytes = look.bytes;
    list.sources.push_back(std::move(file));
  }
  return first;
}

template <class Entry, class Member>
void SortBy(std::vector<Entry>& entries, Member member) {
  std::sort(entries.begin(), entries.end(),
            [member](const Entry& a, const Entry& b) { return a.*member < b.*member; });
}

// Numbers the classes in the order of `wanted`, unless that is empty.
void NumberClasses(const std::filesystem::path& root, const std::vector<std::string>& wanted,
                   SourceList& list) {
  if (wanted.empty()) return;
  std::map<std::string, std::int32_t> numbers;
  for (const std::string& name : wanted)
    numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  std::vector<std::int32_t> number_of;
  for (const std::string& name : list.classes) {
    const auto number = numbers.find(name);
    if (number == numbers.end()) {
      throw Error(
          ErrorCode::kInvalidArgument, (root / name).string(),
          "the sub-folder is not one of the " + std::to_string(wanted.size()) + " given classes");
    }
    number_of.push_back(number->second);
  }
  for (Source& source : list.sources)
    source.label = number_of[static_cast<std::size_t>(source.label)];
  list.classes = wanted;
}

// "train/, val/ and 3 more"
std::string FolderNames(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  const std::size_t named = names.size() > kMostNamed ? kMostNamed - 1 : names.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += ToUtf8(names[i]) + "/";
  }
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + " more";
  return text;
}

// Classes that have folders of their own: these may be the classes that were meant.
void WarnOfInnerFolders(SourceList& list) {
  std::map<std::string, std::string> inner;  // the first in each top folder
  for (const Source& source : list.sources) {
    const std::size_t top = source.key.find('/');
    const std::size_t end = source.key.find('/', top + 1);
    if (end != std::string::npos) {
      inner.emplace(source.key.substr(0, top), source.key.substr(0, end + 1));
    }
  }
  if (inner.empty()) return;
  std::vector<std::string> outer;
  for (const auto& [top, first] : inner)
    outer.push_back(top);
  const bool one = outer.size() == 1;
  list.warnings.push_back(
      FolderNames(outer) +
      (one ? " holds folders of its own, such as " : " hold folders of their own, such as ") +
      ToUtf8(inner.begin()->second) + ", and " +
      (one ? "is a class itself" : "are classes themselves") +
      "; for classes of the inner folders name each outer one as a source, or store no labels "
      "(--no-labels)");
}

SourceList ListOf(const ConvertSource& source, Found found, unsigned threads,
                  const std::stop_token& stop) {
  std::vector<Look> looks(found.files.size());
  ParallelFor(threads, looks.size(), stop, [&](unsigned, std::size_t i) {
    looks[i] = LookInto(source.root / found.files[i].key);
  });
  if (stop.stop_requested()) ThrowStopped();

  SourceList list = std::move(found.list);
  list.root = source.root;
  const FirstImages first = Sort(found.files, looks, list);
  if (source.labels && first.direct && first.in_class) {
    throw Error(
        ErrorCode::kInvalidArgument, source.root.string(),
        "holds images both directly (" + ToUtf8(*first.direct) + ") and in sub-folders (" +
            ToUtf8(*first.in_class) +
            "), so its classes are unclear; move one of the two elsewhere, give a sub-folder "
            "as the source, or take all without labels (--no-labels)");
  }
  RequireImages(source.root, list);
  list.labelled = source.labels && !first.direct;
  list.fields.push_back({Field::Image(), Feed::kImage});
  if (list.labelled) {
    list.fields.push_back({Field::Label(), Feed::kLabel});
    for (const std::string& name : found.top_folders)
      list.classes.push_back(ToUtf8(name));
    NumberClasses(source.root, source.classes, list);
    WarnOfInnerFolders(list);
  } else {
    for (Source& file : list.sources)
      file.label = 0;
    for (const std::string& name : found.top_folders) {
      if (!source.labels) break;
      list.warnings.push_back(
          ToUtf8(name) +
          ": the sub-folder has no image and is not a class, because the images lie beside it");
    }
  }
  SortBy(list.broken, &LeftOut::path);
  SortBy(list.passed_over, &LeftOut::path);
  return list;
}

}  // namespace

SourceList ScanFolder(const ConvertSource& source, unsigned threads, const std::stop_token& stop) {
  Found found;
  FolderWalk(source.root, stop, found).Run();
  SourceList list = ListOf(source, std::move(found), threads, stop);
  SortBy(list.sources, &Source::key);
  return list;
}

SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const std::stop_token& stop) {
  Found found;
  std::map<std::string, std::int32_t> classes;
  const RootPath root(source.root);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::optional<std::string> key = root.KeyOf(paths[i]);
    if (!key) {
      throw Error(ErrorCode::kInvalidArgument, source.root.string(),
                  "path " + std::to_string(i + 1) + " of the list, " + ToUtf8(paths[i]) +
                      ", does not lie in this folder");
    }
    const std::size_t slash = key->find('/');
    if (slash != std::string::npos) classes.emplace(key->substr(0, slash), 0);
    found.files.push_back({*key, 0, kTopFolder});
  }
  for (auto& [name, number] : classes) {
    number = static_cast<std::int32_t>(found.top_folders.size());
    found.top_folders.push_back(name);
  }
  for (Source& file : found.files) {
    const std::size_t slash = file.key.find('/');
    if (slash != std::string::npos) file.label = classes.at(file.key.substr(0, slash));
  }
  SourceList list = ListOf(source, std::move(found), threads, stop);
  WarnOfRepeats(list);
  return list;
}

}  // namespace sluice
