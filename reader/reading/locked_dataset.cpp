#include "reader/reading/locked_dataset.h"

#include <cerrno>
#include <optional>

#include <sys/mman.h>
#include <sys/resource.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "reader/reading/available_memory.h"

namespace sluice {

namespace {

// In KiB, the unit of `ulimit -l`, or in MiB; rounded up.
std::string Binary(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024;
  constexpr std::uint64_t kMiB = kKiB * 1024;
  const auto in = [bytes](std::uint64_t unit) {
    return std::to_string(bytes / unit + (bytes % unit != 0 ? 1 : 0));
  };
  return bytes < 10 * kMiB ? in(kKiB) + " KiB" : in(kMiB) + " MiB";
}

// Returns why the shard cannot be read, if it cannot.
std::optional<Error> Lock(DatasetState& dataset, std::uint32_t shard) {
  std::shared_ptr<const Error> fault;
  const ShardUse file = dataset.table.Shard(shard, fault);
  if (file == nullptr) return *fault;
  if (mlock(file->bytes().data(), file->bytes().size()) == 0) return std::nullopt;
  const int error = errno;
  if (error == EAGAIN || file->CutBefore(file->bytes())) return file->Unreadable({});
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
              "has " + Binary(dataset.facts->shape.bytes()) + ", and this process may lock " +
                  Binary(limit.rlim_cur) + " in memory (" + SystemErrorText(error) +
                  "); raise `ulimit -l`, or set LoaderOptions::storage = Mapped");
}

}  // namespace

void LockInMemory(DatasetState& dataset, bool pass_over) {
  if (!dataset.table.keeps_all()) {
    throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
                "has " + std::to_string(dataset.facts->shards.size()) + " shards, and " +
                    std::to_string(dataset.table.max_mapped()) +
                    " at most stay mapped: it cannot be locked in memory (LoaderOptions::storage = "
                    "Locked); make fewer shards with `sluice transcode` and a larger --shard-size, "
                    "or set storage = Mapped");
  }
  const std::uint64_t bytes = dataset.facts->shape.bytes();
  const std::uint64_t available = AvailableMemory();
  if (bytes > available) {
    throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
                "has " + Binary(bytes) + ", and there are " + Binary(available) +
                    " of memory left, so it cannot be locked (LoaderOptions::storage = Locked); "
                    "set storage = Mapped");
  }
  for (std::uint32_t shard = 0; shard < dataset.facts->shards.size(); ++shard) {
    const std::optional<Error> failure = Lock(dataset, shard);
    if (failure && !pass_over) throw *failure;
  }
}

}  // namespace sluice
