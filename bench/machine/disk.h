// Files for measurements: reading files from their disk, past the page cache or after dropping
// their pages; and folders to write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include <sluice/error.h>

#include "format/disk/file.h"

namespace sluice::bench {

// The files of the dataset in `folder`, manifest first.
std::vector<std::filesystem::path> DatasetFiles(const std::filesystem::path& folder);

// Asks the kernel to drop the files' pages (fdatasync, then POSIX_FADV_DONTNEED). Pages that a
// process has mapped stay, and a file system in memory drops nothing. Throws Error(kIo).
void DropFromPageCache(const std::vector<std::filesystem::path>& files);

struct Residency {
  std::uint64_t resident_bytes = 0;
  std::uint64_t total_bytes = 0;
};
// Counts the files' whole pages in memory, by mincore().
Residency InPageCache(const std::vector<std::filesystem::path>& files);

// Memory aligned as reads past the page cache need it.
struct AlignedBuffer {
  static constexpr std::size_t kAlignment = 4096;
  // `bytes`: a multiple of kAlignment.
  explicit AlignedBuffer(std::size_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), std::free) {
    if (data == nullptr) throw std::bad_alloc();
  }
  std::unique_ptr<std::byte, void (*)(void*)> data;
};

// If `direct` is true, opens the file for reads past the page cache. If its file system does not
// support them (a file system in memory, say), or if `direct` is false, opens it for ordinary reads
// and sets `direct` to false. Throws Error(kIo).
FileHandle OpenDirect(const std::filesystem::path& path, bool& direct);

// How fast files are read from their disk.
struct DiskRate {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // bytes read for the measurement
  bool direct = true;       // past the page cache; false: the file system does not support that
  bool in_memory = false;   // the files are in a file system in memory: this is not a disk's rate
};

// Reads pieces of 1 MiB of the files (of the first 4096) in random order, with eight readers, past
// the page cache (or, if that is impossible, after the files have been dropped from it), until
// `seconds` have passed or everything has been read. Throws Error(kIo).
DiskRate MeasureDiskRate(const std::vector<std::filesystem::path>& files, double seconds,
                         const std::stop_token& stop);

// Like MeasureDiskRate(), for a 64 MiB file that this writes into `folder` and removes again. Shows
// how fast a dataset's shards would be read from that disk, if there are only small files so far.
DiskRate MeasureDiskRateIn(const std::filesystem::path& folder, double seconds,
                           const std::stop_token& stop);

// A folder for temporary files, which is removed with the object.
class ScratchFolder {
 public:
  // Makes the folder in `parent`; if that is empty, in the folder for temporary files (TMPDIR).
  // Throws Error(kIo).
  explicit ScratchFolder(const std::filesystem::path& parent = {}) {
    const std::filesystem::path place =
        parent.empty() ? std::filesystem::temp_directory_path() : parent;
    std::string name = (place / "sluice-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(ErrorCode::kIo, place.string(), "a temporary folder cannot be created in it");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// Claims a folder that a command keeps from run to run, and whose files it overwrites. Creates the
// folder, or accepts one that is empty or has the marker file of an earlier run. Throws
// Error(kState) for any other folder, since its content would be lost; Error(kIo) if the folder
// cannot be created or marked.
void ClaimWorkFolder(const std::filesystem::path& folder);

// Checks the value of --work for CLI11. Returns "" unless the value is a URL, else a sentence.
std::string CheckWorkFolder(const std::string& folder);

}  // namespace sluice::bench
