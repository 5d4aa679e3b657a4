#include "reader/decoding/compared_payloads.h"

namespace sluice {

namespace {

std::uint64_t NumberInShard(const SampleRef& ref, const ShardFile& file) noexcept {
  return std::uint64_t{ref.block} * file.block_samples() + ref.row;
}

}  // namespace

ComparedPayloads::OfFile& ComparedPayloads::Of(std::uint32_t shard, const ShardFile& file) {
  OfFile* const newest = newest_[shard].load(std::memory_order_acquire);
  if (newest != nullptr && newest->file == file.file()) return *newest;
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

bool ComparedPayloads::Has(const SampleRef& ref, const ShardFile& file) {
  const std::uint64_t number = NumberInShard(ref, file);
  const std::uint64_t word = Of(ref.shard, file).words[number / 64].load(std::memory_order_relaxed);
  return (word >> (number % 64) & 1) != 0;
}

void ComparedPayloads::Add(const SampleRef& ref, const ShardFile& file) {
  const std::uint64_t number = NumberInShard(ref, file);
  Of(ref.shard, file)
      .words[number / 64]
      .fetch_or(std::uint64_t{1} << (number % 64), std::memory_order_relaxed);
}

}  // namespace sluice
