#include "bench/machine/page_cache.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/file.h"

namespace sluice::bench {

std::vector<std::filesystem::path> DatasetFiles(const std::filesystem::path& folder) {
  const Dataset dataset = Dataset::Open(folder);
  std::vector<std::filesystem::path> files = {dataset.path() / "manifest.json"};
  for (const ShardSummary& shard : dataset.shards())
    files.push_back(dataset.path() / shard.file);
  return files;
}

void DropFromPageCache(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& path : files) {
    const FileHandle file = OpenForReading(path);
    // Dirty pages would stay in the cache. A read-only file system has none.
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

}  // namespace sluice::bench
