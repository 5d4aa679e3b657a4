// A folder in which several users of a machine may write: a stage of blocks, or rows that loaders
// share.
//
// Anybody who may write there could put a symbolic or hard link in the place of a file, and so
// choose which file of this user is emptied and overwritten. Therefore a folder is opened once, and
// what lies in it is opened by its name there. Links are not followed, a file with a second name (a
// hard link) is refused, and so is everything that belongs neither to this user nor to root.
//
// A group can share such a folder: it has the setgid bit, the group may write to it, and others may
// not. Then files of that group are accepted from any of its members, and files that are made there
// are writable for all of them, whatever umask says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "format/disk/file.h"

namespace sluice {

class SharedFolder {
 public:
  // Opens a folder that this user has named, and makes it with its parents if it is missing. Links
  // on the way to it are followed. Throws Error.
  static SharedFolder Make(const std::filesystem::path& path);
  // Like Make(), for a folder that must exist. Throws Error, with kNotFound if it does not.
  static SharedFolder Open(const std::filesystem::path& path);

  // These open files and folders in this folder, by their names there. They throw Error if the name
  // is a link, is not of the kind asked for, or belongs to somebody else.

  SharedFolder MakeFolder(const std::string& name) const;
  SharedFolder OpenFolder(const std::string& name) const;
  // Opens a file for reading and writing; makes an empty one if it is missing.
  FileHandle OpenFile(const std::string& name) const;
  FileHandle OpenForReading(const std::string& name) const;
  // As OpenFile(), for a file that nobody else may read or write.
  FileHandle OpenPrivate(const std::string& name) const;
  // A file for flock(). If this user cannot write to the folder, an existing file is opened for
  // reading.
  FileHandle OpenLock(const std::string& name) const;

  // The names in the folder, in no order. Throws Error.
  std::vector<std::string> Names() const;
  bool Has(const std::string& name) const noexcept;
  // Removes a file, or an empty folder. A missing one is not an error.
  void Remove(const std::string& name) const noexcept;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  SharedFolder(std::filesystem::path path, FileHandle folder, std::optional<gid_t> group)
      : path_(std::move(path)), folder_(std::move(folder)), group_(group) {}
  void Check(const FileHandle& file, const std::string& name, bool folder) const;
  FileHandle OpenChecked(const std::string& name, int flags, mode_t mode = 0666) const;
  [[noreturn]] void Refuse(const std::string& name, const std::string& why) const;
  [[noreturn]] void Fail(const std::string& name, int error_number) const;

  std::filesystem::path path_;
  FileHandle folder_;
  std::optional<gid_t> group_;  // the group that shares the folder
};

}  // namespace sluice
