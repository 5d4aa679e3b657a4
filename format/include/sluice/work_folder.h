// A folder for unfinished files, next to the place where they go.
#pragma once

#include <filesystem>

namespace sluice {

// A user may have given the folder's name to another folder ("data.repack" next to "data"). So a
// file in the folder, the mark, says that Sluice made it; nothing is removed from a folder without
// a mark. A process that is killed leaves its mark, and the next process takes the folder over.
// While the object lives, it holds a lock on the mark.
class WorkFolder {
 public:
  // Creates the folder, or takes over one that has a mark (with its content) or is empty, since a
  // process may be killed before it has made its mark. Throws Error: kExists (it holds files and
  // has no mark, or the name belongs to something that is not a folder), kState (another process is
  // using it), kIo.
  explicit WorkFolder(const std::filesystem::path& path);
  // Removes the folder, as Remove() does, unless Keep() was called.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  // Whether a folder with a mark is at this path: a process uses it, or a killed process has left
  // it.
  static bool IsAt(const std::filesystem::path& path);

  // Where the folder is.
  const std::filesystem::path& path() const noexcept { return path_; }
  // Whether a folder with a mark was there already: an earlier process has left it.
  bool found() const noexcept { return found_; }

  // The destructor leaves the folder, with its mark, for the next process.
  void Keep() noexcept { keep_ = true; }
  // Removes all that is in it but the mark. Throws Error(kIo).
  void Empty() const;
  // Removes only the mark, since all other files are finished. Nothing else may be called
  // afterwards. Throws Error(kIo).
  void Finish();
  // Removes the folder with all that is in it, the mark last. Nothing else may be called
  // afterwards. Throws Error(kIo).
  void Remove();

 private:
  std::filesystem::path path_;
  bool found_ = false;
  bool keep_ = false;
  int mark_ = -1;  // descriptor of the open mark, which has the lock; -1: none
};

}  // namespace sluice
