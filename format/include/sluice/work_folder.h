// A folder for unfinished files, next to the place where the finished files go.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace sluice {

// A folder that Sluice made has a file, the mark. A user may have a folder of the same name
// ("data.repack" next to "data"), so nothing is removed from a folder without a mark. A user's file
// may even have the mark's name, so a mark counts only if it begins with Sluice's own text. A
// process that is killed leaves its mark, and the next process takes the folder over. A WorkFolder
// holds a lock on the mark as long as it exists.
//
// A user may also put files into a folder that a killed process left. If the user chose the folder,
// the work must therefore say which files are its own: `gives` recognises the names that the work
// gives, and Record() adds further names. Files of any other name are never removed.
class WorkFolder {
 public:
  // Whether the work gives this name to a file in the folder. Names are relative, such as "a" or
  // "b/c".
  using Gives = std::function<bool(const std::string& name)>;

  // Creates the folder, or takes over a folder that has a mark (and keeps its content) or is empty.
  // An empty folder counts, because a process may be killed before it has made its mark. Without
  // `gives`, everything in the folder belongs to the work.
  //
  // Errors:
  //
  //   kExists   the folder holds files but no mark; with `gives`, it holds a file that the work did
  //             not make; or the name belongs to something that is not a folder
  //   kState    another process is using the folder
  //   kIo
  explicit WorkFolder(const std::filesystem::path& path, Gives gives = {});
  // Removes the folder, as Remove() does, unless Keep() was called.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  // Whether a folder with a mark is at this path: a process is using it, or a killed process left
  // it.
  static bool IsAt(const std::filesystem::path& path);

  // Where the folder is.
  const std::filesystem::path& path() const noexcept { return path_; }
  // Whether the folder already had a mark: an earlier process left it.
  bool found() const noexcept { return found_; }

  // Notes in the mark that the work makes a file of this name, such as "b/c", in the folder. Call
  // it before you make the file. Thread-safe. Throws Error(kIo).
  void Record(const std::string& name) const;
  // Makes the destructor leave the folder, with its mark, for the next process.
  void Keep() noexcept { keep_ = true; }
  // Removes everything that the work made in the folder, except the mark. Throws Error(kIo).
  void Empty() const;
  // Removes only the mark, because all other files are finished. No other function may be called
  // after this one. Throws Error(kIo).
  void Finish();
  // Removes everything that the work made, the mark last; then the folder, if it is empty. No other
  // function may be called after this one. Throws Error(kIo).
  void Remove();

 private:
  void RemoveMade() const;

  std::filesystem::path path_;
  Gives gives_;
  bool found_ = false;
  bool keep_ = false;
  int mark_ = -1;  // descriptor of the open mark, which holds the lock; -1: no mark is open
};

}  // namespace sluice
