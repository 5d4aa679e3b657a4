// The shape of a dataset, as the order sees it: how many samples each block of each shard has.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

namespace sluice {

constexpr std::uint64_t CeilDiv(std::uint64_t a, std::uint64_t b) noexcept {
  return (a + b - 1) / b;
}

// Thrown to stop the making of an order, which takes minutes for 10^9 samples: the loader may be
// asked to stop in the meantime.
struct OrderGivenUp : std::exception {
  const char* what() const noexcept override { return "the order was given up"; }
};

using StopFlag = const std::atomic<bool>*;  // null: never

inline void ThrowIfGivenUp(StopFlag give_up) {
  if (give_up != nullptr && give_up->load(std::memory_order_relaxed)) throw OrderGivenUp();
}

// Where a sample lies, and its number in the dataset.
struct SampleRef {
  std::uint32_t shard = 0;
  std::uint32_t block = 0;   // within the shard
  std::uint32_t record = 0;  // within the block
  std::uint64_t index = 0;
};

class DatasetShape {
 public:
  struct Shard {
    std::uint64_t samples = 0;
    std::uint64_t blocks = 0;
    std::uint64_t block_samples = 0;  // in every block but the last
    std::uint64_t bytes = 0;
  };

  explicit DatasetShape(std::vector<Shard> shards);

  std::uint64_t samples() const noexcept { return first_sample_.back(); }
  std::uint64_t blocks() const noexcept { return first_block_.back(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t max_block_samples() const noexcept { return max_block_samples_; }
  const std::vector<Shard>& shards() const noexcept { return shards_; }
  std::uint64_t first_sample(std::size_t shard) const noexcept { return first_sample_[shard]; }
  std::uint64_t first_block(std::size_t shard) const noexcept { return first_block_[shard]; }
  // Whether all blocks have the same number of samples. The last block of a shard may have fewer,
  // but at most one block in eight may be such a short block. The blocks of one conversion are
  // usually even.
  bool even() const noexcept { return even_; }

  // Each of these three takes O(log shards).
  SampleRef Sample(std::uint64_t index) const noexcept;
  // Record `record` of block number `block` of the whole dataset.
  SampleRef Record(std::uint64_t block, std::uint64_t record) const noexcept;
  std::uint64_t SamplesIn(std::uint64_t block) const noexcept;

 private:
  std::vector<Shard> shards_;
  std::vector<std::uint64_t> first_sample_;  // one more than shards: the last is the total
  std::vector<std::uint64_t> first_block_;
  std::uint64_t bytes_ = 0;
  std::uint64_t max_block_samples_ = 0;
  bool even_ = true;
};

}  // namespace sluice
