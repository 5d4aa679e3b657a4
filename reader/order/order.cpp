// EpochOrder chooses between the kinds of order; LaneOrder, MixtureOrder and Permutation do the
// work. What remains here is the translation of numbers. A lane order is made for the shape of a
// part alone, so its shards, blocks and samples are those of that shape. InShards() and InList()
// translate the result, and every block in `opened`, into numbers of the whole dataset; SamplesIn()
// translates the other way.
//
// A list is sorted for quasi-random order only. The other kinds take the list as it was given. The
// members' order matters: part_shape_ comes before shape_, which may refer to it.
#include "reader/order/order.h"

#include <algorithm>
#include <numeric>

#include "format/random.h"
#include "reader/order/mixture_order.h"

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

std::uint64_t WindowBlocks(const DatasetShape& shape, const OrderParameters& options) noexcept {
  if (shape.blocks() == 0) return 1;
  const std::uint64_t block_bytes = std::max<std::uint64_t>(shape.bytes() / shape.blocks(), 1);
  const std::uint64_t lane_bytes = block_bytes * options.lanes;
  if (options.window_bytes == 0) {
    return std::max<std::uint64_t>(2, (kDefaultWindowBytes + lane_bytes - 1) / lane_bytes);
  }
  return std::max<std::uint64_t>(1, options.window_bytes / lane_bytes);
}

namespace {

// The shape of the part's shards alone.
DatasetShape ShapeOf(const DatasetShape& whole, const ShardPart& part) {
  std::vector<DatasetShape::Shard> shards;
  shards.reserve(part.shards.size());
  for (const std::uint32_t shard : part.shards)
    shards.push_back(whole.shards()[shard]);
  return DatasetShape(std::move(shards));
}

// The shape of a sorted list: each block that holds listed samples counts as a shard that has only
// this block.
DatasetShape ShapeOf(const DatasetShape& whole, const ListPart& part, StopFlag give_up) {
  std::vector<DatasetShape::Shard> blocks;
  std::uint64_t last = ~std::uint64_t{0};
  for (const std::uint64_t sample : part.samples) {
    const SampleRef ref = whole.Sample(sample);
    const std::uint64_t block = whole.first_block(ref.shard) + ref.block;
    if (block != last) {
      ThrowIfGivenUp(give_up);
      blocks.push_back({0, 1, 0, 0});
    }
    last = block;
    ++blocks.back().samples;
    ++blocks.back().block_samples;
  }
  return DatasetShape(std::move(blocks));
}

std::optional<DatasetShape> ShapeOfPart(const DatasetShape& whole, OrderPart& part,
                                        const OrderParameters& options) {
  if (const auto* shards = std::get_if<ShardPart>(&part)) return ShapeOf(whole, *shards);
  auto* const list = std::get_if<ListPart>(&part);
  if (list == nullptr || options.shuffle != Shuffle::kQuasiRandom) {
    return std::nullopt;
  }
  // Lists that were drawn are sorted already.
  if (!std::ranges::is_sorted(list->samples)) {
    std::ranges::sort(list->samples);
  }
  return ShapeOf(whole, *list, options.give_up);
}

}  // namespace

EpochOrder::EpochOrder(const DatasetShape& shape, const OrderParameters& options,
                       std::uint64_t epoch, OrderPart part)
    : whole_(shape),
      part_(std::move(part)),
      part_shape_(ShapeOfPart(shape, part_, options)),
      shape_(part_shape_ ? *part_shape_ : whole_),
      shuffle_(options.shuffle),
      partners_(options.seed, epoch) {
  if (const auto* const mixed = std::get_if<MixturePart>(&part_)) {
    mixture_ = std::make_unique<MixtureOrder>(mixed->plan, options, epoch);
    return;
  }
  const auto* const list = std::get_if<ListPart>(&part_);
  switch (shuffle_) {
    case Shuffle::kQuasiRandom:
      // The number of blocks in a window comes from the mean block of the whole dataset, so that
      // all ranks have the same number.
      lanes_.emplace(
          shape_,
          LaneOptions{options.seed, options.lanes, WindowBlocks(whole_, options), options.uses,
                      options.uses > 1 && options.partners, options.give_up},
          epoch);
      break;
    case Shuffle::kRandom:
      samples_.Reset(list != nullptr ? list->samples.size() : shape_.samples(),
                     RandomStream(options.seed, Purpose::kSampleOrder, epoch).Word64());
      break;
    case Shuffle::kSequential: break;
  }
}

EpochOrder::~EpochOrder() = default;

std::uint64_t EpochOrder::BlockOf(const SampleRef& ref) const noexcept {
  return whole_.first_block(ref.shard) + ref.block;
}

std::uint64_t EpochOrder::InWhole(std::uint64_t block) const noexcept {
  if (const auto* const part = std::get_if<ShardPart>(&part_)) {
    const SampleRef first = shape_.Record(block, 0);
    return whole_.first_block(part->shards[first.shard]) + first.block;
  }
  if (const auto* const list = std::get_if<ListPart>(&part_))
    return BlockOf(whole_.Sample(list->samples[shape_.Record(block, 0).index]));
  return block;
}

void EpochOrder::NoteFollowing() {
  if (lanes_) lanes_->NoteFollowing();
  if (mixture_) mixture_->NoteFollowing();
}

std::optional<std::uint64_t> EpochOrder::TakeFollowing() {
  if (mixture_) return mixture_->TakeFollowing();
  if (!lanes_) return std::nullopt;
  const std::optional<std::uint64_t> block = lanes_->TakeFollowing();
  return block ? std::optional(InWhole(*block)) : std::nullopt;
}

std::uint64_t EpochOrder::SamplesIn(std::uint64_t block) const noexcept {
  if (mixture_) return mixture_->SamplesIn(block);
  if (shuffle_ != Shuffle::kQuasiRandom)
    return std::holds_alternative<ListPart>(part_) ? 0 : whole_.SamplesIn(block);
  const SampleRef first = whole_.Record(block, 0);
  if (const auto* const list = std::get_if<ListPart>(&part_)) {
    const auto at = std::ranges::lower_bound(list->samples, first.index);
    // The first listed sample of the block; its shard in the list's shape stands for the block.
    const auto index = static_cast<std::uint64_t>(at - list->samples.begin());
    return lanes_->SamplesIn(shape_.Sample(index).shard);
  }
  if (const auto* const part = std::get_if<ShardPart>(&part_)) {
    const auto at = std::ranges::lower_bound(part->shards, first.shard);
    const auto shard = static_cast<std::size_t>(at - part->shards.begin());
    return lanes_->SamplesIn(shape_.first_block(shard) + first.block);
  }
  return lanes_->SamplesIn(block);
}

SampleRef EpochOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened,
                         bool fills_up) {
  if (std::holds_alternative<ShardPart>(part_)) return InShards(position, opened, fills_up);
  if (std::holds_alternative<ListPart>(part_)) return InList(position, opened, fills_up);
  if (mixture_) return mixture_->At(position, opened, fills_up);
  return InShape(position, opened, fills_up);
}

SampleRef EpochOrder::Substitute(std::uint64_t position, std::uint64_t away,
                                 std::uint64_t positions, std::vector<std::uint64_t>& opened) {
  if (mixture_) return mixture_->Later(position, away, opened);
  return At((position + away) % positions, opened);
}

void EpochOrder::Run(std::uint64_t position, std::uint64_t stride, std::span<SampleRef> samples,
                     std::vector<std::uint64_t>& opened) {
  // The whole dataset in lanes: no numbers need to be translated.
  if (lanes_ && std::holds_alternative<std::monostate>(part_)) {
    return lanes_->Run(position, stride, samples, opened);
  }
  for (SampleRef& sample : samples) {
    sample = At(position, opened);
    position += stride;
  }
}

SampleRef EpochOrder::InShards(std::uint64_t position, std::vector<std::uint64_t>& opened,
                               bool fills_up) {
  const std::vector<std::uint32_t>& shards = std::get<ShardPart>(part_).shards;
  const std::size_t before = opened.size();
  const SampleRef sample = InShape(position, opened, fills_up);
  for (std::size_t i = before; i < opened.size(); ++i)
    opened[i] = InWhole(opened[i]);
  return whole_.Record(whole_.first_block(shards[sample.shard]) + sample.block, sample.record);
}

SampleRef EpochOrder::InList(std::uint64_t position, std::vector<std::uint64_t>& opened,
                             bool fills_up) {
  const std::vector<std::uint64_t>& samples = std::get<ListPart>(part_).samples;
  if (shuffle_ == Shuffle::kQuasiRandom) {
    const std::size_t before = opened.size();
    const SampleRef listed = lanes_->At(position, opened, fills_up);
    for (std::size_t i = before; i < opened.size(); ++i)
      opened[i] = InWhole(opened[i]);
    return whole_.Sample(samples[listed.index]);
  }
  if (shuffle_ == Shuffle::kRandom) return whole_.Sample(samples[samples_(position)]);
  const SampleRef sample = whole_.Sample(samples[position]);
  if (BlockOf(sample) != last_block_) {
    last_block_ = BlockOf(sample);
    opened.push_back(last_block_);
  }
  return sample;
}

SampleRef EpochOrder::InShape(std::uint64_t position, std::vector<std::uint64_t>& opened,
                              bool fills_up) {
  switch (shuffle_) {
    case Shuffle::kQuasiRandom: return lanes_->At(position, opened, fills_up);
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

std::uint64_t EpochOrder::PartnerOf(std::uint64_t position, std::size_t j) {
  if (mixture_) return mixture_->PartnerOf(position, j);
  if (lanes_) return lanes_->PartnerOf(position, j);
  const auto* const list = std::get_if<ListPart>(&part_);
  if (list == nullptr || list->begins.empty())
    return partners_.InCycle(j, position, samples_.size());
  // In one of the user's batches, which may hold samples that go together.
  const auto after = std::ranges::upper_bound(list->begins, position);
  const std::uint64_t begin = *std::prev(after);
  return begin + partners_.InCycle(j, position - begin, *after - begin);
}

std::uint64_t EpochOrder::PositionInShape(std::uint64_t sample) {
  switch (shuffle_) {
    case Shuffle::kQuasiRandom: return lanes_->PositionOf(sample);
    case Shuffle::kRandom: return samples_.Inverse(sample);
    case Shuffle::kSequential: break;
  }
  return sample;
}

void EpochOrder::AddPositionsOf(std::uint64_t sample, std::vector<std::uint64_t>& positions) {
  const auto before = static_cast<std::ptrdiff_t>(positions.size());
  if (mixture_) {
    mixture_->AddPositionsOf(sample, positions);
  } else if (const auto* const part = std::get_if<ShardPart>(&part_)) {
    const std::uint32_t shard = whole_.Sample(sample).shard;
    const auto at = std::ranges::lower_bound(part->shards, shard);
    if (at == part->shards.end() || *at != shard) return;
    const auto index = static_cast<std::size_t>(at - part->shards.begin());
    positions.push_back(
        PositionInShape(shape_.first_sample(index) + (sample - whole_.first_sample(shard))));
  } else if (const auto* const list = std::get_if<ListPart>(&part_)) {
    const auto sample_of = [list](std::uint64_t entry) { return list->samples[entry]; };
    if (by_sample_.empty()) {
      by_sample_.resize(list->samples.size());
      std::iota(by_sample_.begin(), by_sample_.end(), std::uint64_t{0});
      if (!std::ranges::is_sorted(list->samples)) std::ranges::sort(by_sample_, {}, sample_of);
    }
    for (const std::uint64_t entry : std::ranges::equal_range(by_sample_, sample, {}, sample_of))
      positions.push_back(PositionInShape(entry));
  } else {
    positions.push_back(PositionInShape(sample));
  }
  std::ranges::sort(positions.begin() + before, positions.end());
}

}  // namespace sluice
