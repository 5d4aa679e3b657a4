#include "reader/decoding/compared_payloads.h"

namespace sluice {

ComparedPayloads::OfFile& ComparedPayloads::Find(std::uint32_t shard, const ShardFile& file) {
  const MutexLock lock(mutex_);
  OfFile* found = chains_[shard].get();
  while (found != nullptr && found->file != file.file())
    found = found->older.get();
  if (found == nullptr) {
    auto made = std::make_unique<OfFile>();
    made->file = file.file();
    made->words = std::vector<std::atomic<std::uint64_t>>((file.samples() + 63) / 64);
    made->older = std::move(chains_[shard]);
    found = made.get();
    chains_[shard] = std::move(made);
  }
  newest_[shard].store(found, std::memory_order_release);
  return *found;
}

void ComparedPayloads::Add(const SampleRef& ref, const ShardFile& file) {
  const std::uint64_t number = std::uint64_t{ref.block} * file.block_samples() + ref.row;
  Of(ref.shard, file)
      .words[number / 64]
      .fetch_or(std::uint64_t{1} << (number % 64), std::memory_order_relaxed);
}

}  // namespace sluice
