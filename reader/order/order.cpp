#include "reader/order/order.h"

#include <algorithm>

#include "format/random.h"

namespace sluice {

namespace {
constexpr std::uint64_t kDefaultWindowBytes = std::uint64_t{64} << 20;
}

std::string_view NameOf(Shuffle shuffle) noexcept {
  switch (shuffle) {
    case Shuffle::kQuasiRandom: return "quasi_random";
    case Shuffle::kRandom: return "random";
    case Shuffle::kSequential: break;
  }
  return "sequential";
}

std::optional<Shuffle> ShuffleOf(std::string_view name) noexcept {
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    if (NameOf(shuffle) == name) return shuffle;
  }
  return std::nullopt;
}

std::uint64_t WindowBlocks(const DatasetShape& shape, const OrderOptions& options) noexcept {
  if (shape.blocks() == 0) return 1;
  const std::uint64_t block_bytes = std::max<std::uint64_t>(shape.bytes() / shape.blocks(), 1);
  const std::uint64_t lane_bytes = block_bytes * options.lanes;
  if (options.window_bytes == 0) {
    return std::max<std::uint64_t>(2, (kDefaultWindowBytes + lane_bytes - 1) / lane_bytes);
  }
  return std::max<std::uint64_t>(1, options.window_bytes / lane_bytes);
}

EpochOrder::EpochOrder(const DatasetShape& shape, const OrderOptions& options, std::uint64_t epoch)
    : shape_(shape), shuffle_(options.shuffle) {
  switch (shuffle_) {
    case Shuffle::kQuasiRandom:
      lanes_.emplace(shape, LaneOptions{options.seed, options.lanes, WindowBlocks(shape, options)},
                     epoch);
      break;
    case Shuffle::kRandom:
      samples_.Reset(shape.samples(),
                     RandomStream(options.seed, Purpose::kSampleOrder, epoch).Word64());
      break;
    case Shuffle::kSequential: break;
  }
}

SampleRef EpochOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened) {
  switch (shuffle_) {
    case Shuffle::kQuasiRandom: return lanes_->At(position, opened);
    case Shuffle::kRandom: return shape_.Sample(samples_(position));
    case Shuffle::kSequential: break;
  }
  const SampleRef sample = shape_.Sample(position);
  const std::uint64_t block = shape_.first_block(sample.shard) + sample.block;
  if (block != last_block_) {
    last_block_ = block;
    opened.push_back(block);
  }
  return sample;
}

}  // namespace sluice
