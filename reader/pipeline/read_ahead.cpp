#include "reader/pipeline/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include <sluice/error.h>

#include "reader/pipeline/field_ranges.h"

namespace sluice {

namespace {

// Linux 5.14; older headers do not name it.
constexpr int kPopulateRead = 22;
// The kernel holds a lock on the process's memory for the whole of a call: short ones let others
// through.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

// Advice is taken for whole pages of the machine's, which may be larger than the format's: the page
// that `data` lies in begins here.
const std::byte* PageOf(const std::byte* data) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return data - reinterpret_cast<std::uintptr_t>(data) % page;
}

void MakeResident(const std::byte* block, std::size_t block_bytes) {
  static std::atomic<bool> can_populate{true};
  const std::byte* const data = PageOf(block);
  const auto bytes = static_cast<std::size_t>(block + block_bytes - data);
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

// The table, which is read to find the rest, and the chosen fields' payloads.
std::uint64_t ReadParts(const DatasetState& dataset, const FieldChoice& choice,
                        const ShardFile& shard, std::uint32_t number, const std::byte* bytes) {
  const ReadGuard guard = shard.Guard();
  const BlockView block = shard.Block(number);
  std::uint64_t read = sizeof(BlockHeader) + std::uint64_t{block.count()} * block.Row(0).size();
  for (const ByteRange& range : RangesOf(block, dataset.layout, dataset.manifest.schema, choice)) {
    MakeResident(bytes + range.offset, range.bytes);
    read += range.bytes;
  }
  return read;
}

}  // namespace

std::uint64_t ReadAhead(DatasetState& dataset, const FieldChoice& choice,
                        const std::vector<std::uint64_t>& blocks) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t block : blocks) {
    const SampleRef first = dataset.shape.Row(block, 0);
    try {
      const ShardFile& shard = dataset.Shard(first.shard);
      const BlockEntry entry = shard.block_entry(first.block);
      const std::byte* const block_bytes = shard.bytes().data() + entry.offset;
      if (choice.all_payloads) {
        MakeResident(block_bytes, entry.bytes);
        bytes += entry.bytes;
      } else {
        bytes += ReadParts(dataset, choice, shard, first.block, block_bytes);
      }
    } catch (const Error&) {
      continue;  // each sample of the shard will say so
    }
  }
  return bytes;
}

}  // namespace sluice
