// The shards' pages in the page cache: counting and dropping them.
#pragma once

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sluice/dataset.h>

#include "tests/catch.h"

namespace sluice::test {

// The bytes of the shards that are in the page cache.
inline std::uint64_t CachedBytes(const Dataset& dataset) {
  std::uint64_t cached = 0;
  for (const ShardSummary& shard : dataset.shards()) {
    const int fd = open((dataset.path() / shard.file).c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    void* const memory = mmap(nullptr, shard.bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    REQUIRE(memory != MAP_FAILED);
    std::vector<unsigned char> pages((shard.bytes + 4095) / 4096);
    const int asked = mincore(memory, shard.bytes, pages.data());
    munmap(memory, shard.bytes);
    REQUIRE(asked == 0);
    cached += 4096 * static_cast<std::uint64_t>(std::count_if(
                         pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
  }
  return cached;
}

// Drops the shards' pages. Returns false if the file system does not drop them.
inline bool DropFromCache(const Dataset& dataset) {
  for (const ShardSummary& shard : dataset.shards()) {
    const int fd = open((dataset.path() / shard.file).c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  return CachedBytes(dataset) == 0;
}

}  // namespace sluice::test
