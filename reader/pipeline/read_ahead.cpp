#include "reader/pipeline/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <sys/mman.h>

namespace sluice {

namespace {

// Linux 5.14; older headers do not name it.
constexpr int kPopulateRead = 22;
// The kernel holds a lock on the process's memory for the whole of a call: short ones let others
// through.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

void MakeResident(const std::byte* data, std::size_t bytes) {
  static std::atomic<bool> can_populate{true};
  for (std::size_t done = 0; done < bytes; done += kStepBytes) {
    void* const start = const_cast<std::byte*>(data + done);
    const std::size_t step = std::min(kStepBytes, bytes - done);
    if (can_populate.load(std::memory_order_relaxed)) {
      if (madvise(start, step, kPopulateRead) == 0) continue;
      if (errno == EINVAL) can_populate.store(false, std::memory_order_relaxed);
    }
    madvise(start, step, MADV_WILLNEED);
  }
}

}  // namespace

void ReadAhead(DatasetState& dataset, const std::vector<std::uint64_t>& blocks) {
  for (const std::uint64_t block : blocks) {
    const SampleRef first = dataset.shape.Row(block, 0);
    const ShardFile& shard = dataset.Shard(first.shard);
    const BlockEntry entry = shard.block_entry(first.block);
    MakeResident(shard.bytes().data() + entry.offset, entry.bytes);
  }
}

}  // namespace sluice
