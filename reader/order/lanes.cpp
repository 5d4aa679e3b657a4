// The constructor deals the blocks to the lanes, by DealInTurn() or by DealByLength(). After that,
// only SamplesBefore(), PlaceOf() and BlockAt() know which of the two it was; everything else
// counts samples within a lane. InBody() enters the window that holds the sample, finds the sample
// in it, and announces the window's blocks once.
//
// A window may lie partly in the body and partly in the tail. The body has already given some of
// its samples in permuted order, so the tail must use the window's permutation, too, after its own.
// A window that lies wholly in the tail needs none.
#include "reader/order/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "format/random.h"

namespace sluice {

namespace {
// More blocks than any dataset has in a lane, and small enough for arithmetic not to overflow.
constexpr std::uint64_t kMaxWindowBlocks = std::uint64_t{1} << 46;
}  // namespace

LaneOrder::LaneOrder(const DatasetShape& shape, const LaneOptions& options, std::uint64_t epoch)
    : shape_(shape),
      window_blocks_(std::clamp<std::uint64_t>(options.window_blocks, 1, kMaxWindowBlocks)),
      window_key_(RandomStream(options.seed, Purpose::kWindowOrder, epoch).Word64()),
      blocks_(shape.blocks(), RandomStream(options.seed, Purpose::kBlockOrder, epoch).Word64()),
      tail_key_(RandomStream(options.seed, Purpose::kTailOrder, epoch).Word64()),
      uses_(options.uses),
      shared_(options.partners),
      partners_(options.seed, epoch),
      lanes_(options.lanes) {
  if (shape.even()) {
    DealInTurn(options.give_up);
  } else {
    DealByLength(options.give_up);
  }
  // The body ends with the shortest lane, because it takes one sample of each lane in turn.
  body_per_lane_ = ~std::uint64_t{0};
  for (const Lane& lane : lanes_)
    body_per_lane_ = std::min(body_per_lane_, lane.samples);
  std::uint64_t tail = 0;
  for (const Lane& lane : lanes_) {
    tail_start_.push_back(tail);
    tail += lane.samples - body_per_lane_;
  }
}

Permutation& LaneOrder::Tail() {
  if (tail_.size() == 0) tail_.Reset(shape_.samples() - body(), tail_key_);
  return tail_;
}

void LaneOrder::DealInTurn(StopFlag give_up) {
  const std::uint64_t count = lanes_.size();
  DealShortBlocks(give_up);
  for (std::uint64_t l = 0; l < count; ++l) {
    Lane& lane = lanes_[l];
    lane.blocks = shape_.blocks() / count + (l < shape_.blocks() % count ? 1 : 0);
    lane.samples = SamplesBefore(lane, lane.blocks);
  }
}

void LaneOrder::DealByLength(StopFlag give_up) {
  using Length = std::pair<std::uint64_t, std::uint64_t>;  // samples so far, lane
  std::priority_queue<Length, std::vector<Length>, std::greater<>> shortest;
  for (std::uint64_t l = 0; l < lanes_.size(); ++l)
    shortest.emplace(0, l);
  for (std::uint64_t i = 0; i < shape_.blocks(); ++i) {
    ThrowIfGivenUp(give_up);
    const std::uint64_t block = blocks_(i);
    const std::uint64_t l = shortest.top().second;
    shortest.pop();
    Lane& lane = lanes_[l];
    lane.dealt.push_back({block, lane.samples});
    lane.samples += shape_.SamplesIn(block);
    ++lane.blocks;
    shortest.emplace(lane.samples, l);
  }
}

void LaneOrder::DealShortBlocks(StopFlag give_up) {
  const std::uint64_t full = shape_.max_block_samples();
  struct Dealt {
    std::uint64_t permuted;  // the block's place in the permuted sequence
    std::uint64_t missing;   // samples that this block alone lacks, unlike ShortBlock::missing
  };
  std::vector<Dealt> short_blocks;
  for (std::size_t s = 0; s < shape_.shards().size(); ++s) {
    ThrowIfGivenUp(give_up);
    const DatasetShape::Shard& shard = shape_.shards()[s];
    const std::uint64_t first = shape_.first_block(s);
    const std::uint64_t last_count = shard.samples - (shard.blocks - 1) * shard.block_samples;
    if (last_count != full) {
      short_blocks.push_back({blocks_.Inverse(first + shard.blocks - 1), full - last_count});
    }
  }
  std::ranges::sort(short_blocks, {}, &Dealt::permuted);
  for (const Dealt& block : short_blocks) {
    Lane& lane = lanes_[block.permuted % lanes_.size()];
    const std::uint64_t before = lane.short_blocks.empty() ? 0 : lane.short_blocks.back().missing;
    lane.short_blocks.push_back({block.permuted / lanes_.size(), before + block.missing});
  }
}

std::uint64_t LaneOrder::SamplesBefore(const Lane& lane, std::uint64_t place) const noexcept {
  if (!lane.dealt.empty()) {
    return place < lane.dealt.size() ? lane.dealt[place].before : lane.samples;
  }
  const auto after = std::lower_bound(
      lane.short_blocks.begin(), lane.short_blocks.end(), place,
      [](const ShortBlock& block, std::uint64_t limit) { return block.place < limit; });
  const std::uint64_t missing = after == lane.short_blocks.begin() ? 0 : std::prev(after)->missing;
  return place * shape_.max_block_samples() - missing;
}

std::uint64_t LaneOrder::PlaceOf(const Lane& lane, std::uint64_t sample) const noexcept {
  if (!lane.dealt.empty()) {
    const auto after =
        std::partition_point(lane.dealt.begin(), lane.dealt.end(),
                             [sample](const DealtBlock& block) { return block.before <= sample; });
    return static_cast<std::uint64_t>(after - lane.dealt.begin()) - 1;
  }
  const std::uint64_t full = shape_.max_block_samples();
  // Finds the last short block that ends at or before the sample; all blocks between that block and
  // the sample's are full.
  const auto after = std::partition_point(
      lane.short_blocks.begin(), lane.short_blocks.end(),
      [&](const ShortBlock& block) { return (block.place + 1) * full - block.missing <= sample; });
  const std::uint64_t missing = after == lane.short_blocks.begin() ? 0 : std::prev(after)->missing;
  return (sample + missing) / full;
}

std::uint64_t LaneOrder::FirstPlace(std::uint64_t l, std::uint64_t window) const noexcept {
  if (window == 0) return 0;
  const std::uint64_t first_window = 1 + l * window_blocks_ / lanes_.size();
  return std::min(first_window + (window - 1) * window_blocks_, lanes_[l].blocks);
}

void LaneOrder::EnterWindow(std::uint64_t l, std::uint64_t sample) {
  Lane& lane = lanes_[l];
  if (IsOpen(lane, sample)) return;
  const std::uint64_t place = PlaceOf(lane, sample);
  const std::uint64_t first_window = 1 + l * window_blocks_ / lanes_.size();
  lane.window = place < first_window ? 0 : 1 + (place - first_window) / window_blocks_;
  const std::uint64_t begin = FirstPlace(l, lane.window);
  const std::uint64_t end = FirstPlace(l, lane.window + 1);
  lane.first = SamplesBefore(lane, begin);
  lane.count = SamplesBefore(lane, end) - lane.first;
  // A window that lies wholly in the tail needs no permutation: the tail is permuted as a whole.
  if (lane.first >= body_per_lane_) return;
  // Lane and window make one number, so that every window of every lane has a stream of its own,
  // and the permutation does not depend on which windows were entered before.
  RandomStream random(window_key_, Purpose::kWindowOrder, l << 40 | lane.window);
  lane.mix.Reset(lane.count, random.Word64());
  lane.open.clear();
  for (std::uint64_t p = begin; p < end; ++p)
    lane.open.push_back({SamplesBefore(lane, p) - lane.first, shape_.Record(BlockAt(l, p), 0)});
}

SampleRef LaneOrder::Mixed(const Lane& lane, std::uint64_t place) noexcept {
  // In a window of up to this many blocks, every block is compared: this takes less time than a
  // binary search, whose branches cannot be predicted.
  constexpr std::size_t kCompared = 8;
  const std::uint64_t sample = lane.mix(place);
  const OpenBlock* block = lane.open.data();
  if (lane.open.size() <= kCompared) {
    std::size_t passed = 0;
    for (std::size_t i = 1; i < lane.open.size(); ++i)
      passed += lane.open[i].before <= sample ? 1 : 0;
    block += passed;
  } else {
    block = &*std::prev(
        std::partition_point(lane.open.begin(), lane.open.end(),
                             [sample](const OpenBlock& open) { return open.before <= sample; }));
  }
  const std::uint64_t row = sample - block->before;
  return {block->first.shard, block->first.block, static_cast<std::uint32_t>(row),
          block->first.index + row};
}

void LaneOrder::OpenOne(const SampleRef& sample, std::vector<std::uint64_t>& opened) {
  const std::uint64_t block = shape_.first_block(sample.shard) + sample.block;
  if (tail_opened_.insert(block).second) opened.push_back(block);
}

void LaneOrder::Announce(std::uint64_t l, std::uint64_t place, std::vector<std::uint64_t>& opened) {
  Lane& lane = lanes_[l];
  if (lane.announced == lane.window) return;
  lane.announced = lane.window;
  if (notes_following_) NoteFollowing(l);
  if (shared_) return AnnounceShared(l, opened);
  // The usual case. Otherwise an epoch is resumed within the window: only the samples from `place`
  // on are still to come, and SamplesIn() must count only these for each block.
  if (place == 0) return AnnounceWhole(l, opened);
  ForgetLeft(l);
  for (; place < lane.count; ++place)
    AddLeft(l, place, uses_, opened);
}

void LaneOrder::AnnounceWhole(std::uint64_t l, std::vector<std::uint64_t>& opened) const {
  const std::uint64_t end = FirstPlace(l, lanes_[l].window + 1);
  for (std::uint64_t p = FirstPlace(l, lanes_[l].window); p < end; ++p)
    opened.push_back(BlockAt(l, p));
}

void LaneOrder::ForgetLeft(std::uint64_t l) {
  const std::uint64_t end = FirstPlace(l, lanes_[l].window + 1);
  for (std::uint64_t p = FirstPlace(l, lanes_[l].window); p < end; ++p)
    left_[BlockAt(l, p)] = 0;
}

void LaneOrder::AddLeft(std::uint64_t l, std::uint64_t place, std::uint64_t uses,
                        std::vector<std::uint64_t>& opened) {
  const Lane& lane = lanes_[l];
  const std::uint64_t block = BlockAt(l, PlaceOf(lane, lane.first + lane.mix(place)));
  std::uint64_t& left = left_[block];
  if (left == 0) opened.push_back(block);
  left += uses;
}

// In each line of the window, four rows show a sample of the lane: its own, and one in each part of
// three other lanes' rows. Of a resumed epoch's lines, only those rows count that are still to
// come.
void LaneOrder::AnnounceShared(std::uint64_t l, std::vector<std::uint64_t>& opened) {
  const Lane& lane = lanes_[l];
  const std::uint64_t lanes = lanes_.size(), begin = begin_.value_or(0);
  if (lane.first * lanes >= begin) return AnnounceWhole(l, opened);
  ForgetLeft(l);
  const std::uint64_t places = PlacesInBody(lane);
  for (std::uint64_t place = 0; place < places; ++place) {
    const std::uint64_t line = lane.first + place;
    if (line * lanes + l >= begin) AddLeft(l, place, 1, opened);
    const Partners::Three away = partners_.LanesOf(line);
    for (std::size_t j = 0; j < away.size(); ++j) {
      const std::uint64_t of = (l + lanes - away[j] * lanes / Partners::kLaneGroups) % lanes;
      if (line * lanes + of >= begin) AddLeft(l, partners_.Shifted(j, place, places), 1, opened);
    }
  }
  for (std::uint64_t place = places; place < lane.count; ++place)
    AddLeft(l, place, uses_, opened);
}

std::uint64_t LaneOrder::PartnerOf(std::uint64_t position, std::size_t j) {
  const std::uint64_t lanes = lanes_.size();
  if (position >= body())
    return body() + partners_.InCycle(j, position - body(), shape_.samples() - body());
  const std::uint64_t line = position / lanes;
  const std::uint64_t l =
      (position % lanes + partners_.LanesOf(line)[j] * lanes / Partners::kLaneGroups) % lanes;
  EnterWindow(l, line);
  const Lane& lane = lanes_[l];
  const std::uint64_t place = partners_.Shifted(j, line - lane.first, PlacesInBody(lane));
  return (lane.first + place) * lanes + l;
}

// Notes the blocks of the lane's next window. If positions are asked for in order, following_ holds
// at most one window of each lane: the one noted before has opened, so DropOpened() removes it.
void LaneOrder::NoteFollowing(std::uint64_t l) {
  DropOpened();
  const Lane& lane = lanes_[l];
  const std::uint64_t window = lane.window + 1;
  const std::uint64_t begin = FirstPlace(l, window);
  const std::uint64_t before = SamplesBefore(lane, begin);
  if (before >= body_per_lane_) return;  // in the tail, whose blocks are opened one by one
  following_[before * lanes_.size() + l] = {l, window, begin, FirstPlace(l, window + 1)};
}

void LaneOrder::DropOpened() {
  while (!following_.empty()) {
    const Following& first = following_.begin()->second;
    if (lanes_[first.lane].announced + 1 == first.window) return;
    following_.erase(following_.begin());
  }
}

std::optional<std::uint64_t> LaneOrder::TakeFollowing() {
  DropOpened();
  if (following_.empty()) return std::nullopt;
  Following& first = following_.begin()->second;
  const std::uint64_t block = BlockAt(first.lane, first.next++);
  if (first.next == first.end) following_.erase(following_.begin());
  return block;
}

std::uint64_t LaneOrder::SamplesIn(std::uint64_t block) const noexcept {
  const auto left = left_.find(block);
  return left != left_.end() ? left->second : uses_ * shape_.SamplesIn(block);
}

SampleRef LaneOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up) {
  if (!begin_) begin_ = position;
  if (position >= body()) return InTail(position, opened);
  return InBody(position % lanes_.size(), position / lanes_.size(), opened, fills_up);
}

void LaneOrder::Run(std::uint64_t position, std::uint64_t stride, std::span<SampleRef> samples,
                    std::vector<std::uint64_t>& opened) {
  const std::uint64_t lanes = lanes_.size();
  std::uint64_t l = position % lanes;
  std::uint64_t sample = position / lanes;  // counted within the lane
  for (SampleRef& result : samples) {
    result = position < body() ? InBody(l, sample, opened, false) : InTail(position, opened);
    position += stride;
    // The quotient and the remainder of position / lanes, without a division for each sample.
    for (l += stride; l >= lanes; l -= lanes)
      ++sample;
  }
}

SampleRef LaneOrder::InBody(std::uint64_t l, std::uint64_t sample,
                            std::vector<std::uint64_t>& opened, bool fills_up) {
  const Lane& lane = lanes_[l];
  if (!IsOpen(lane, sample)) EnterWindow(l, sample);
  const std::uint64_t place = sample - lane.first;
  const SampleRef result = Mixed(lane, place);
  if (lane.announced == lane.window) return result;
  if (fills_up) {
    OpenOne(result, opened);
  } else {
    Announce(l, place, opened);
  }
  return result;
}

SampleRef LaneOrder::InTail(std::uint64_t position, std::vector<std::uint64_t>& opened) {
  // The tail is the lanes' rests one after another, and then permuted as a whole: undone here, then
  // the lane is found by where its rest begins.
  const std::uint64_t left = Tail()(position - body());
  const auto after = std::upper_bound(tail_start_.begin(), tail_start_.end(), left);
  const auto l = static_cast<std::uint64_t>(after - tail_start_.begin() - 1);
  const std::uint64_t sample = body_per_lane_ + (left - tail_start_[l]);
  EnterWindow(l, sample);
  const Lane& lane = lanes_[l];
  SampleRef result;
  if (lane.first < body_per_lane_) {
    result = Mixed(lane, sample - lane.first);
  } else {
    const std::uint64_t place = PlaceOf(lane, sample);
    result = shape_.Record(BlockAt(l, place), sample - SamplesBefore(lane, place));
  }
  if (lane.announced != lane.window) OpenOne(result, opened);
  return result;
}

LaneOrder::LanePlace LaneOrder::PlaceOfBlock(std::uint64_t block) {
  if (shape_.even()) {
    const std::uint64_t dealt = blocks_.Inverse(block);
    return {dealt % lanes_.size(), dealt / lanes_.size()};
  }
  if (places_.empty()) {
    places_.resize(shape_.blocks());
    for (std::uint64_t l = 0; l < lanes_.size(); ++l)
      for (std::uint64_t place = 0; place < lanes_[l].dealt.size(); ++place)
        places_[lanes_[l].dealt[place].block] = {l, place};
  }
  return places_[block];
}

// InBody() and InTail() backwards. A window holds the same samples before and after its
// permutation, so the sample's place before it already tells the window.
std::uint64_t LaneOrder::PositionOf(std::uint64_t sample) {
  const SampleRef ref = shape_.Sample(sample);
  const auto [l, place] = PlaceOfBlock(shape_.first_block(ref.shard) + ref.block);
  Lane& lane = lanes_[l];
  std::uint64_t at = SamplesBefore(lane, place) + ref.record;  // in the lane
  EnterWindow(l, at);
  if (lane.first < body_per_lane_) at = lane.first + lane.mix.Inverse(at - lane.first);
  if (at < body_per_lane_) return at * lanes_.size() + l;
  return body() + Tail().Inverse(tail_start_[l] + at - body_per_lane_);
}

}  // namespace sluice
