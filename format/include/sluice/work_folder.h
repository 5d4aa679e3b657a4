// A folder for unfinished files, next to the place where they go.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace sluice {

// A user may have given the folder's name to another folder ("data.repack" next to "data"). So a
// file in the folder, the mark, says that Sluice made it; nothing is removed from a folder without
// a mark. Only a file that begins with Sluice's own text is a mark, whatever other files are
// called. A process that is killed leaves its mark, and the next process takes the folder over.
// While the object lives, it holds a lock on the mark.
//
// A user may also put files into a folder that a killed process left. If the user has chosen the
// folder, `gives` says which names the work gives to its files, and Record() adds others. Files of
// any other name are never removed.
class WorkFolder {
 public:
  // Says whether the work gives this name to a file in the folder, such as "a" or "b/c".
  using Gives = std::function<bool(const std::string& name)>;

  // Creates the folder, or takes over one that has a mark (with its content) or is empty, since a
  // process may be killed before it has made its mark. Without `gives`, all that is in the folder
  // belongs to the work. Throws Error: kExists (it holds files and has no mark; with `gives`, it
  // holds a file that the work has not made; or the name belongs to something that is not a
  // folder), kState (another process is using it), kIo.
  explicit WorkFolder(const std::filesystem::path& path, Gives gives = {});
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

  // Notes in the mark that the work makes a file of this name ("b/c") in the folder. Call it before
  // the file is made. Thread-safe. Throws Error(kIo).
  void Record(const std::string& name) const;
  // The destructor leaves the folder, with its mark, for the next process.
  void Keep() noexcept { keep_ = true; }
  // Removes all that the work made in it but the mark. Throws Error(kIo).
  void Empty() const;
  // Removes only the mark, since all other files are finished. Nothing else may be called
  // afterwards. Throws Error(kIo).
  void Finish();
  // Removes all that the work made, the mark last, and the folder if it is empty then. Nothing else
  // may be called afterwards. Throws Error(kIo).
  void Remove();

 private:
  void RemoveMade() const;

  std::filesystem::path path_;
  Gives gives_;
  bool found_ = false;
  bool keep_ = false;
  int mark_ = -1;  // descriptor of the open mark, which has the lock; -1: none
};

}  // namespace sluice
