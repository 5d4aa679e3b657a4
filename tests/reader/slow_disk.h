// Mounts a folder as a disk that fails or is slow.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

// Whether disks can be mounted: needs FUSE and its Python module (fuse3, python3-fusepy).
inline bool MayMountDisks() {
  return std::system("/usr/bin/python3 '" SLUICE_EIO_FS "' --can > /dev/null 2>&1") == 0;
}

class MountedDisk {
 public:
  // `how` has the arguments FILE BEGIN END [DELAY] [direct_io] of eio_fs.py.
  MountedDisk(const std::filesystem::path& shown, const std::string& how) {
    const std::string start = "/usr/bin/python3 '" SLUICE_EIO_FS "' '" + shown.string() + "' '" +
                              path().string() + "' " + how;
    REQUIRE(std::system(start.c_str()) == 0);
  }
  // Unmounts at once, even if files are still open; the file system ends when the last is closed.
  ~MountedDisk() {
    const int unmounted = std::system(("fusermount3 -u -z '" + path().string() + "'").c_str());
    static_cast<void>(unmounted);
  }
  MountedDisk(const MountedDisk&) = delete;
  MountedDisk& operator=(const MountedDisk&) = delete;

  const std::filesystem::path& path() const noexcept { return mount_.path(); }

 private:
  TemporaryFolder mount_;
};

}  // namespace sluice::test
