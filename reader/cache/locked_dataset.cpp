#include "reader/cache/locked_dataset.h"

#include <cerrno>

#include <sys/mman.h>
#include <sys/resource.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "reader/cache/available_memory.h"

namespace sluice {

namespace {

std::string Megabytes(std::uint64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

}  // namespace

void LockInMemory(DatasetState& dataset) {
  const std::uint64_t bytes = dataset.shape.bytes();
  const std::uint64_t available = AvailableMemory();
  if (bytes > available) {
    throw Error(ErrorCode::kLimit, dataset.folder.string(),
                "has " + Megabytes(bytes) + ", and there are " + Megabytes(available) +
                    " of memory left: it cannot be locked there (LoaderOptions::cache = kLocked); "
                    "leave it to the page cache");
  }
  for (std::uint32_t shard = 0; shard < dataset.shards.size(); ++shard) {
    const ShardFile& file = dataset.Shard(shard);
    if (mlock(file.bytes().data(), file.bytes().size()) == 0) continue;
    const int error = errno;
    if (error == EAGAIN || file.CutBefore(file.bytes())) throw file.Unreadable({});
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    throw Error(ErrorCode::kLimit, dataset.folder.string(),
                "has " + Megabytes(bytes) + ", and this process may lock " +
                    Megabytes(limit.rlim_cur) + " in memory (" + SystemErrorText(error) +
                    "); raise `ulimit -l`, or leave it to the page cache");
  }
}

}  // namespace sluice
