#include "writer/source/scan.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/parallel.h"
#include "writer/source/sniff.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::int32_t kTopFolder = -1;  // the label of what lies in no sub-folder

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

class Walk {
 public:
  Walk(const std::filesystem::path& root, const std::stop_token& stop, Found& found)
      : root_(root), stop_(stop), found_(found) {}

  void Run() {
    struct stat info {};
    if (stat(root_.c_str(), &info) != 0) {
      throw Error(ErrorCode::kNotFound, root_.string(),
                  "the source folder cannot be opened: " + SystemErrorText(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
      throw Error(ErrorCode::kInvalidArgument, root_.string(),
                  "is no folder; name the folder that holds the images");
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
      found_.list.broken.push_back({key, "cannot be looked at: " + SystemErrorText(errno)});
    } else if (S_ISDIR(info.st_mode)) {
      Enter(key, {info.st_dev, info.st_ino}, label);
    } else if (S_ISREG(info.st_mode)) {
      found_.files.push_back({key, static_cast<std::uint64_t>(info.st_size), label});
    } else {
      found_.list.passed_over.push_back({key, "no regular file"});
    }
  }

  void Enter(const std::string& key, FolderId id, std::int32_t label) {
    if (std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      found_.list.passed_over.push_back({key, "a link to a folder that it lies in"});
      found_.list.warnings.push_back(ToUtf8(key) +
                                     ": links to a folder that it lies in and was not followed");
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
  std::vector<FolderId> ancestors_;  // of the folder in hand, itself included
};

// The kind of a file's content, or why it cannot be read.
struct Look {
  Sniffed sniffed;
  std::string trouble;
};

Look LookInto(const std::filesystem::path& path) {
  Look look;
  try {
    const FileHandle file = OpenForReading(path);
    std::array<std::byte, kSniffBytes> start{};
    std::size_t size = 0;
    while (size < start.size()) {
      const ssize_t got = read(file.get(), start.data() + size, start.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) look.trouble = "cannot be read: " + SystemErrorText(errno);
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    look.sniffed = Sniff(Bytes(start).first(size));
  } catch (const Error& error) {
    look.trouble = error.sentence();
  }
  return look;
}

// Sorts the files into sources, broken ones and those that are no images. Returns the first image
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
    if (!look.trouble.empty()) {
      list.broken.push_back({std::move(file.key), look.trouble});
      continue;
    }
    if (look.sniffed.kind == ImageKind::kNone) {
      list.passed_over.push_back({std::move(file.key), file.bytes == 0 ? "empty" : "no image"});
      continue;
    }
    std::optional<std::string>& place = file.label == kTopFolder ? first.direct : first.in_class;
    if (!place) place = file.key;
    if (look.sniffed.kind == ImageKind::kUnsupported) {
      list.broken.push_back({std::move(file.key), std::string("unsupported: a ") +
                                                      look.sniffed.name +
                                                      " image; JPEG and PNG are converted"});
    } else {
      list.sources.push_back(std::move(file));
    }
  }
  return first;
}

[[noreturn]] void ThrowNoImages(const std::filesystem::path& folder, const SourceList& list) {
  std::string sentence = "holds no JPEG or PNG image that could be converted";
  if (!list.broken.empty()) {
    sentence += "; " + std::to_string(list.broken.size()) + " other files were left out, such as " +
                ToUtf8(list.broken[0].path) + " (" + list.broken[0].reason + ")";
  } else if (!list.passed_over.empty()) {
    sentence +=
        "; " + std::to_string(list.passed_over.size()) + " files that are no images were found";
  }
  throw Error(ErrorCode::kNotFound, folder.string(), sentence);
}

template <class Entry, class Member>
void SortBy(std::vector<Entry>& entries, Member member) {
  std::sort(entries.begin(), entries.end(),
            [member](const Entry& a, const Entry& b) { return a.*member < b.*member; });
}

}  // namespace

void ThrowStopped() {
  throw Error(ErrorCode::kState,
              "the conversion was stopped; run the same command again and it goes on from what was "
              "finished");
}

SourceList ScanFolder(const std::filesystem::path& folder, unsigned threads,
                      const std::stop_token& stop) {
  Found found;
  Walk(folder, stop, found).Run();
  std::vector<Look> looks(found.files.size());
  ParallelFor(threads, looks.size(), stop,
              [&](unsigned, std::size_t i) { looks[i] = LookInto(folder / found.files[i].key); });
  if (stop.stop_requested()) ThrowStopped();

  SourceList list = std::move(found.list);
  const FirstImages first = Sort(found.files, looks, list);
  if (first.direct && first.in_class) {
    throw Error(ErrorCode::kInvalidArgument, folder.string(),
                "holds images both directly (" + ToUtf8(*first.direct) + ") and in sub-folders (" +
                    ToUtf8(*first.in_class) +
                    "), so it is neither a folder of classes nor a flat one; move one of the two "
                    "elsewhere, or name a sub-folder");
  }
  if (list.sources.empty()) ThrowNoImages(folder, list);
  list.labelled = !first.direct;
  if (list.labelled) {
    for (const std::string& name : found.top_folders)
      list.classes.push_back(ToUtf8(name));
  } else {
    for (Source& source : list.sources)
      source.label = 0;
    for (const std::string& name : found.top_folders) {
      list.warnings.push_back(ToUtf8(name) +
                              ": the sub-folder holds no image and makes no class, "
                              "since the images lie beside it");
    }
  }
  SortBy(list.sources, &Source::key);
  SortBy(list.broken, &LeftOut::path);
  SortBy(list.passed_over, &LeftOut::path);
  return list;
}

}  // namespace sluice
