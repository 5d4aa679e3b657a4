// A program's calls to the file system, one by one: the record that file_seam.cpp writes.
//
// A program that runs with the seam (LD_PRELOAD) counts the calls by which it changes one folder:
// creating a file, write, fsync, close of a written file, rename, link, unlink, mkdir. Each call is
// recorded once it is done. Environment variables control the seam:
//   SLUICE_SEAM_FOLDER  the folder, as the program names it (an absolute path)
//   SLUICE_SEAM_RECORD  the file that the record is appended to; unset: no record
//   SLUICE_SEAM_DO      one of these actions:
//     kill:N, stop:N    SIGKILL or SIGSTOP before call N (from 0)
//     fail:N:ERRNO      call N fails with that error number
//     fail-all:N:ERRNO  from call N on, all calls fail except close and unlink
//     short:N           call N, if it is a write, writes half of its bytes
//     space:BYTES       writes beyond that many bytes fail with ENOSPC
//     copies:BYTES      likewise, and no file can be linked (EXDEV)
//     refuse:N:ERRNO    once N shards have been opened for reading, no other can be
//     no-direct:0       no open file can be switched to writes past the page cache (O_DIRECT)
//     no-direct:1       a file can be switched, but its writes then fail
//     no-map:0          no file can be mapped to be read
// Past the page cache, a partial write writes whole pages, as on a disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

enum class FileCall : std::uint8_t {
  kCreate = 1,  // a file is created, or emptied if it is there
  kWrite,
  kSync,  // of a file or of a folder
  kClose,
  kRename,
  kUnlink,
  kMakeFolder,
  kLink,  // a file gets a second name
};

struct RecordedCall {
  FileCall call = FileCall::kCreate;
  std::string path;
  std::string to;            // of a rename or link
  std::uint64_t offset = 0;  // of a write
  std::string data;          // of a write
};

// Throws std::runtime_error if the file does not exist. Leaves out a last entry that a kill cut
// off.
std::vector<RecordedCall> ReadRecord(const std::filesystem::path& path);

}  // namespace sluice::test
