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

namespace {

DatasetShape PartOf(const DatasetShape& shape, const std::vector<std::uint32_t>& shards) {
  std::vector<DatasetShape::Shard> part;
  part.reserve(shards.size());
  for (const std::uint32_t shard : shards)
    part.push_back(shape.shards()[shard]);
  return DatasetShape(std::move(part));
}

}  // namespace

EpochOrder::EpochOrder(const DatasetShape& shape, const OrderOptions& options, std::uint64_t epoch)
    : EpochOrder(shape, std::nullopt, {}, options, epoch) {}

EpochOrder::EpochOrder(const DatasetShape& shape, std::vector<std::uint32_t> shards,
                       const OrderOptions& options, std::uint64_t epoch)
    : EpochOrder(shape, PartOf(shape, shards), shards, options, epoch) {}

EpochOrder::EpochOrder(const DatasetShape& shape, std::optional<DatasetShape> part,
                       std::vector<std::uint32_t> shards, const OrderOptions& options,
                       std::uint64_t epoch)
    : whole_(shape),
      part_(std::move(part)),
      shards_(std::move(shards)),
      shape_(part_ ? *part_ : whole_),
      shuffle_(options.shuffle) {
  switch (shuffle_) {
    case Shuffle::kQuasiRandom:
      // The window is that of the whole dataset's mean block, so that it is one number for all
      // ranks.
      lanes_.emplace(
          shape_, LaneOptions{options.seed, options.lanes, WindowBlocks(whole_, options)}, epoch);
      break;
    case Shuffle::kRandom:
      samples_.Reset(shape_.samples(),
                     RandomStream(options.seed, Purpose::kSampleOrder, epoch).Word64());
      break;
    case Shuffle::kSequential: break;
  }
}

SampleRef EpochOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened) {
  const std::size_t before = opened.size();
  SampleRef sample = InShape(position, opened);
  if (!part_) return sample;
  for (std::size_t i = before; i < opened.size(); ++i) {
    const SampleRef block = part_->Row(opened[i], 0);
    opened[i] = whole_.first_block(shards_[block.shard]) + block.block;
  }
  return whole_.Row(whole_.first_block(shards_[sample.shard]) + sample.block, sample.row);
}

SampleRef EpochOrder::InShape(std::uint64_t position, std::vector<std::uint64_t>& opened) {
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
