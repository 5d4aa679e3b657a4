#include "reader/order/lanes.h"

#include <algorithm>

#include "format/random.h"

namespace sluice {

LaneOrder::LaneOrder(const DatasetShape& shape, const LaneOptions& options, std::uint64_t epoch)
    : shape_(shape),
      window_blocks_(std::max<std::uint64_t>(options.window_blocks, 1)),
      window_key_(RandomStream(options.seed, Purpose::kWindowOrder, epoch).Word64()),
      blocks_(shape.blocks(), RandomStream(options.seed, Purpose::kBlockOrder, epoch).Word64()),
      lanes_(options.lanes) {
  const std::uint64_t count = lanes_.size();
  DealShortBlocks();
  body_per_lane_ = ~std::uint64_t{0};
  for (std::uint64_t l = 0; l < count; ++l) {
    Lane& lane = lanes_[l];
    lane.blocks = shape.blocks() / count + (l < shape.blocks() % count ? 1 : 0);
    lane.samples = SamplesBefore(lane, lane.blocks);
    body_per_lane_ = std::min(body_per_lane_, lane.samples);
  }
  std::uint64_t tail = 0;
  for (const Lane& lane : lanes_) {
    tail_start_.push_back(tail);
    tail += lane.samples - body_per_lane_;
  }
  tail_.Reset(tail, RandomStream(options.seed, Purpose::kTailOrder, epoch).Word64());
}

void LaneOrder::DealShortBlocks() {
  const std::uint64_t full = shape_.max_block_samples();
  struct Dealt {
    std::uint64_t permuted;
    std::uint64_t missing;
  };
  std::vector<Dealt> short_blocks;
  // The place of a block in the permuted sequence. A table answers that in O(n), so it is turned
  // round once.
  std::vector<std::uint32_t> inverse;
  const auto place_of = [&](std::uint64_t block) -> std::uint64_t {
    if (blocks_.size() > 65536) return blocks_.Inverse(block);
    if (inverse.empty()) {
      inverse.resize(blocks_.size());
      for (std::uint32_t i = 0; i < inverse.size(); ++i)
        inverse[blocks_(i)] = i;
    }
    return inverse[block];
  };
  for (std::size_t s = 0; s < shape_.shards().size(); ++s) {
    const DatasetShape::Shard& shard = shape_.shards()[s];
    const std::uint64_t first = shape_.first_block(s);
    const std::uint64_t last_count = shard.samples - (shard.blocks - 1) * shard.block_samples;
    if (shard.block_samples != full) {
      for (std::uint64_t b = 0; b + 1 < shard.blocks; ++b) {
        short_blocks.push_back({place_of(first + b), full - shard.block_samples});
      }
    }
    if (last_count != full) {
      short_blocks.push_back({place_of(first + shard.blocks - 1), full - last_count});
    }
  }
  std::sort(short_blocks.begin(), short_blocks.end(),
            [](const Dealt& a, const Dealt& b) { return a.permuted < b.permuted; });
  for (const Dealt& block : short_blocks) {
    Lane& lane = lanes_[block.permuted % lanes_.size()];
    const std::uint64_t before = lane.short_blocks.empty() ? 0 : lane.short_blocks.back().missing;
    lane.short_blocks.push_back({block.permuted / lanes_.size(), before + block.missing});
  }
}

std::uint64_t LaneOrder::SamplesBefore(const Lane& lane, std::uint64_t place) const noexcept {
  const auto after = std::lower_bound(
      lane.short_blocks.begin(), lane.short_blocks.end(), place,
      [](const ShortBlock& block, std::uint64_t limit) { return block.place < limit; });
  const std::uint64_t missing = after == lane.short_blocks.begin() ? 0 : std::prev(after)->missing;
  return place * shape_.max_block_samples() - missing;
}

std::uint64_t LaneOrder::PlaceOf(const Lane& lane, std::uint64_t sample) const noexcept {
  const std::uint64_t full = shape_.max_block_samples();
  // The last short block that ends at or before the sample; from there on all blocks up to it are
  // full.
  const auto after = std::partition_point(
      lane.short_blocks.begin(), lane.short_blocks.end(),
      [&](const ShortBlock& block) { return (block.place + 1) * full - block.missing <= sample; });
  const std::uint64_t missing = after == lane.short_blocks.begin() ? 0 : std::prev(after)->missing;
  return (sample + missing) / full;
}

void LaneOrder::OpenWindow(std::uint64_t l, std::uint64_t window,
                           std::vector<std::uint64_t>& opened) {
  Lane& lane = lanes_[l];
  const std::uint64_t first_window = 1 + l * window_blocks_ / lanes_.size();
  const std::uint64_t begin = window == 0 ? 0 : first_window + (window - 1) * window_blocks_;
  const std::uint64_t end = std::min(first_window + window * window_blocks_, lane.blocks);
  lane.window = window;
  lane.first = SamplesBefore(lane, begin);
  lane.count = SamplesBefore(lane, end) - lane.first;
  // What lies in the tail as a whole is permuted there.
  if (lane.first < body_per_lane_) {
    RandomStream random(window_key_, Purpose::kWindowOrder, l << 40 | window);
    lane.mix.Reset(lane.count, random.Word64());
  }
  for (std::uint64_t place = begin; place < end; ++place) {
    opened.push_back(blocks_(place * lanes_.size() + l));
  }
}

SampleRef LaneOrder::InLane(std::uint64_t l, std::uint64_t sample,
                            std::vector<std::uint64_t>& opened) {
  Lane& lane = lanes_[l];
  if (lane.window == kNoWindow || sample < lane.first || sample >= lane.first + lane.count) {
    const std::uint64_t place = PlaceOf(lane, sample);
    const std::uint64_t first_window = 1 + l * window_blocks_ / lanes_.size();
    const std::uint64_t window =
        place < first_window ? 0 : 1 + (place - first_window) / window_blocks_;
    OpenWindow(l, window, opened);
  }
  const std::uint64_t mixed =
      lane.first < body_per_lane_ ? lane.first + lane.mix(sample - lane.first) : sample;
  const std::uint64_t place = PlaceOf(lane, mixed);
  return shape_.Row(blocks_(place * lanes_.size() + l), mixed - SamplesBefore(lane, place));
}

SampleRef LaneOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened) {
  if (position < body()) {
    return InLane(position % lanes_.size(), position / lanes_.size(), opened);
  }
  const std::uint64_t left = tail_(position - body());
  const auto lane = static_cast<std::uint64_t>(
      std::upper_bound(tail_start_.begin(), tail_start_.end(), left) - tail_start_.begin() - 1);
  return InLane(lane, body_per_lane_ + (left - tail_start_[lane]), opened);
}

}  // namespace sluice
