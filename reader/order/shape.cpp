#include "reader/order/shape.h"

#include <algorithm>

namespace sluice {

namespace {
// The index of the range that holds `value`: starts[i] <= value < starts[i + 1].
std::size_t RangeOf(const std::vector<std::uint64_t>& starts, std::uint64_t value) noexcept {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), value) -
                                  starts.begin()) -
         1;
}
}  // namespace

DatasetShape::DatasetShape(std::vector<Shard> shards) : shards_(std::move(shards)) {
  std::uint64_t sample = 0;
  std::uint64_t block = 0;
  std::uint64_t short_blocks = 0;
  for (const Shard& shard : shards_) {
    first_sample_.push_back(sample);
    first_block_.push_back(block);
    sample += shard.samples;
    block += shard.blocks;
    bytes_ += shard.bytes;
    max_block_samples_ = std::max(max_block_samples_, shard.block_samples);
    even_ = even_ && shard.block_samples == shards_.front().block_samples;
    if (shard.samples % shard.block_samples != 0) ++short_blocks;
  }
  even_ = even_ && short_blocks <= block / 8;
  first_sample_.push_back(sample);
  first_block_.push_back(block);
}

SampleRef DatasetShape::Sample(std::uint64_t index) const noexcept {
  const std::size_t shard = RangeOf(first_sample_, index);
  const std::uint64_t within = index - first_sample_[shard];
  const std::uint64_t block_samples = shards_[shard].block_samples;
  return {static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(within / block_samples),
          static_cast<std::uint32_t>(within % block_samples), index};
}

SampleRef DatasetShape::Record(std::uint64_t block, std::uint64_t record) const noexcept {
  const std::size_t shard = RangeOf(first_block_, block);
  const std::uint64_t within = block - first_block_[shard];
  return {static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(within),
          static_cast<std::uint32_t>(record),
          first_sample_[shard] + within * shards_[shard].block_samples + record};
}

std::uint64_t DatasetShape::SamplesIn(std::uint64_t block) const noexcept {
  const SampleRef first = Record(block, 0);
  const Shard& shard = shards_[first.shard];
  const std::uint64_t before = first.block * shard.block_samples;
  return std::min<std::uint64_t>(shard.block_samples, shard.samples - before);
}

}  // namespace sluice
