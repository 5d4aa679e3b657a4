// How fast files are read from their disk, without the page cache's help.
//
// There are two ways around the cache. The files' pages can be dropped before they are read (except
// pages that a process has mapped). Or files are read with O_DIRECT, which some file systems do not
// support. The rate is measured as an epoch reads: pieces of 1 MiB in random order, several at
// once.
#include "bench/machine/disk.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <fstream>
#include <random>
#include <thread>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/shown_text.h>

#include "bench/report/result.h"
#include "format/disk/file.h"
#include "format/disk/manifest.h"

namespace sluice::bench {

std::vector<std::filesystem::path> DatasetFiles(const std::filesystem::path& folder) {
  const Dataset dataset = Dataset::Open(folder);
  const ManifestPlace place = ManifestPlace::Of(dataset.path());
  std::vector<std::filesystem::path> files = {place.folder / place.name};
  for (const ShardSummary& shard : dataset.shards())
    files.push_back(place.folder / shard.file);
  return files;
}

void DropFromPageCache(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& path : files) {
    const FileHandle file = OpenForReading(path);
    // The kernel does not drop dirty pages, so write them first. (A read-only file system has
    // none.)
    fdatasync(file.get());
    const int error = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0) {
      throw Error(ErrorCode::kIo, path.string(),
                  "cannot be dropped from the page cache: " + SystemErrorText(error));
    }
  }
}

Residency InPageCache(const std::vector<std::filesystem::path>& files) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  Residency residency;
  for (const std::filesystem::path& path : files) {
    const MappedFile file(path);
    const std::size_t size = file.bytes().size();
    if (size == 0) continue;
    std::vector<unsigned char> pages((size + page - 1) / page);
    // mincore() takes a non-const pointer, but changes nothing there.
    if (mincore(const_cast<std::byte*>(file.bytes().data()), size, pages.data()) != 0) {
      throw Error(ErrorCode::kIo, path.string(), "its pages in memory cannot be counted");
    }
    residency.total_bytes += pages.size() * page;
    residency.resident_bytes +=
        page * static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.end(),
                                                        [](unsigned char one) { return one & 1; }));
  }
  return residency;
}

FileHandle OpenDirect(const std::filesystem::path& path, bool& direct) {
  int descriptor = direct ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT) : -1;
  if (descriptor < 0) {
    direct = false;
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (descriptor < 0)
    throw Error(ErrorCode::kIo, path.string(), "cannot be read: " + SystemErrorText(errno));
  return FileHandle(descriptor);
}

namespace {

constexpr std::size_t kRandomPiece = std::size_t{1} << 20;
constexpr unsigned kReaders = 8;
constexpr std::size_t kMaxFiles = 4096;  // further files are not read

struct Piece {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
};

bool LiesInMemory(const std::filesystem::path& path) {
  struct statfs about {};
  return statfs(path.c_str(), &about) == 0 &&
         (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC);
}

}  // namespace

DiskRate MeasureDiskRate(const std::vector<std::filesystem::path>& files, double seconds,
                         const std::stop_token& stop) {
  DiskRate rate;
  std::vector<Piece> pieces;
  const std::size_t count = std::min(files.size(), kMaxFiles);
  for (std::size_t i = 0; i < count; ++i) {
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(files[i], error);
    for (std::uint64_t offset = 0; !error && offset < bytes; offset += kRandomPiece)
      pieces.push_back({static_cast<std::uint32_t>(i), offset});
  }
  std::mt19937_64 random(0);
  std::shuffle(pieces.begin(), pieces.end(), random);
  DropFromPageCache({files.begin(), files.begin() + static_cast<std::ptrdiff_t>(count)});

  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> all_direct{true};
  std::vector<std::exception_ptr> failures(kReaders);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto work = [&](unsigned reader) {
    try {
      const AlignedBuffer buffer(kRandomPiece);
      bool direct = true;
      for (std::size_t i = next.fetch_add(1);
           i < pieces.size() && passed() < seconds && !stop.stop_requested();
           i = next.fetch_add(1)) {
        const std::filesystem::path& path = files[pieces[i].file];
        // Opened for each piece: small files need it, and for a large piece it costs nothing in
        // comparison.
        const FileHandle file = OpenDirect(path, direct);
        bytes += ReadAt(file, path, pieces[i].offset, {buffer.data.get(), kRandomPiece});
      }
      if (!direct) all_direct = false;
    } catch (...) {
      failures[reader] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> readers;
    for (unsigned r = 0; r < kReaders; ++r)
      readers.emplace_back(work, r);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  rate.in_memory = !files.empty() && LiesInMemory(files.front());
  rate.bytes = bytes;
  rate.direct = all_direct;
  rate.bytes_per_second = static_cast<double>(rate.bytes) / std::max(passed(), 1e-9);
  return rate;
}

DiskRate MeasureDiskRateIn(const std::filesystem::path& folder, double seconds,
                           const std::stop_token& stop) {
  constexpr std::size_t kFilePieces = 64;
  const ScratchFolder scratch(folder);
  const std::filesystem::path path = scratch.path() / "pieces";
  std::vector<std::uint64_t> piece(kRandomPiece / sizeof(std::uint64_t));
  std::mt19937_64 random(0);  // random words, so that a file system cannot compress the file
  for (std::uint64_t& word : piece)
    word = random();
  std::ofstream file(path, std::ios::binary);
  for (std::size_t i = 0; i < kFilePieces && !stop.stop_requested(); ++i) {
    piece[0] = i;  // no two pieces are equal, so a file system cannot store them once
    file.write(reinterpret_cast<const char*>(piece.data()),
               static_cast<std::streamsize>(kRandomPiece));
  }
  file.close();
  if (!file) throw Error(ErrorCode::kIo, path.string(), "cannot be written");
  return MeasureDiskRate({path}, seconds, stop);
}

void ClaimWorkFolder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path mark = folder / "sluice-bench.txt";
  if (fs::exists(mark)) return;
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder))) {
    throw Error(
        ErrorCode::kState, folder.string(),
        "is not empty, and sluice-bench did not make it. sluice-bench would overwrite what is "
        "in it; give another folder with --work");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorCode::kIo, folder.string(), "cannot be created: " + error.message());
  WriteTextFile(mark, "Made by sluice-bench, which writes over what is in this folder.\n");
}

std::string CheckWorkFolder(const std::string& folder) {
  return IsStoreUrl(folder) ? ShownText(folder) + " is a URL; give a folder of this machine" : "";
}

}  // namespace sluice::bench
