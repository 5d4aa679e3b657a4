// MixturePlan works in steps: the weights become whole numbers, so that every machine computes the
// same plan; these become numbers of draws; and the draws become the word. The word takes memory
// for each row of an epoch, so WriteWord() checks its size before it allocates.
//
// MixtureOrder makes a dataset's own order when a draw first needs that cycle, and keeps only a few
// cycles. Such an order counts its own shards, blocks and samples from 0; Take() adds the numbers
// at which the dataset begins in the mixture. Products are computed in 128 bits (Wide).
#include "reader/order/mixture_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/order/sample_draw.h"
#include "reader/order/shape.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxParts = 4096;
constexpr std::uint64_t kMaxTurns = std::uint64_t{1} << 24;      // entries of turns_in_
constexpr std::uint64_t kMaxPositions = std::uint64_t{1} << 48;  // products stay far from 2^128

[[noreturn]] void RefusePlan(const std::string& what,
                             ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, "Mixture: " + what);
}

// a x b / c, rounded to the nearest.
std::uint64_t Scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const Wide scaled = (Wide{a} * b + c / 2) / c;
  if (scaled > kMaxPositions)
    RefusePlan("an epoch would have more than 2^48 samples; make the weights less different",
               ErrorCode::kLimit);
  return static_cast<std::uint64_t>(scaled);
}

std::vector<std::uint64_t> WeightsOf(const MixtureParameters& parameters) {
  for (std::size_t k = 0; k < parameters.weights.size(); ++k) {
    if (std::isfinite(parameters.weights[k]) && parameters.weights[k] > 0) continue;
    RefusePlan("the weight of dataset " + std::to_string(k) +
               " is not a number above 0; leave the dataset out, or leave out all weights to play "
               "every sample once");
  }
  if (parameters.weights.size() > kMaxParts)
    RefusePlan("it has more than 4096 datasets; join some with `sluice merge`", ErrorCode::kLimit);
  if (parameters.weights.size() * (parameters.lanes + std::uint64_t{1}) > kMaxTurns)
    RefusePlan("datasets times LoaderOptions::order.lanes is more than 2^24; lower lanes",
               ErrorCode::kLimit);
  return WholeWeights(parameters.weights);
}

}  // namespace

std::vector<std::uint64_t> Apportion(std::uint64_t total,
                                     const std::vector<std::uint64_t>& weights) {
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::uint64_t> shares;
  std::vector<std::pair<std::uint64_t, std::size_t>> remainders;
  std::uint64_t left = total;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const Wide exact = Wide{total} * weights[k];
    shares.push_back(static_cast<std::uint64_t>(exact / sum));
    remainders.emplace_back(static_cast<std::uint64_t>(exact % sum), k);
    left -= shares.back();
  }
  // The largest remainders get what is left; stable, so that of equal ones the first dataset does.
  std::ranges::stable_sort(remainders,
                           [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::uint64_t i = 0; i < left; ++i)
    ++shares[remainders[i].second];
  return shares;
}

MixturePlan::MixturePlan(std::vector<DatasetShape> shapes, const MixtureParameters& parameters)
    : parameters_(parameters) {
  const std::vector<std::uint64_t> weights = WeightsOf(parameters_);
  std::uint64_t shard = 0, block = 0, sample = 0;
  for (DatasetShape& shape : shapes) {
    Part part{std::move(shape), static_cast<std::uint32_t>(shard), block, sample};
    shard += part.shape.shards().size();
    block += part.shape.blocks();
    sample += part.shape.samples();
    parts_.push_back(std::move(part));
  }
  if (parameters_.length == MixtureLength::kSamples &&
      (parameters_.samples == 0 || parameters_.samples > kMaxPositions)) {
    RefusePlan("an epoch must have 1 to 2^48 samples");
  }
  if (parameters_.shares == MixtureShares::kOfEachBatch) {
    SetDrawsOfBatches(weights);
    return;
  }
  SetDraws(weights);
  WriteWord();
}

void MixturePlan::SetDraws(const std::vector<std::uint64_t>& weights) {
  if (parameters_.length == MixtureLength::kSamples) {
    const std::vector<std::uint64_t> draws = Apportion(parameters_.samples, weights);
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parts_[k].draws = draws[k];
  } else {
    // The part whose samples are all played exactly once in an epoch.
    std::size_t once = 0;
    for (std::size_t k = 1; k < parts_.size() && parameters_.length == MixtureLength::kShortest;
         ++k) {
      if (Wide{parts_[k].shape.samples()} * weights[once] <
          Wide{parts_[once].shape.samples()} * weights[k]) {
        once = k;
      }
    }
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parts_[k].draws = Scaled(parts_[once].shape.samples(), weights[k], weights[once]);
  }
  for (Part& part : parts_) {
    part.in_column = part.draws / parameters_.lanes;
    positions_ += part.draws;
  }
}

void MixturePlan::SetDrawsOfBatches(const std::vector<std::uint64_t>& weights) {
  const std::vector<std::uint64_t> of_batch = Apportion(parameters_.batch_size, weights);
  const std::uint64_t ranks = parameters_.world_size;
  const std::uint64_t batch = parameters_.batch_size * ranks;
  std::uint64_t batches = CeilDiv(parameters_.samples, batch);
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    parts_[k].of_batch = of_batch[k];
    if (of_batch[k] == 0) {
      RefusePlan("dataset " + std::to_string(k) + "'s share of a batch of " +
                 std::to_string(parameters_.batch_size) +
                 " is less than a sample; raise LoaderOptions::batch_size, or its weight");
    }
    const std::uint64_t each = of_batch[k] * ranks;
    const std::uint64_t samples = parts_[k].shape.samples();
    if (parameters_.length == MixtureLength::kFirst && k == 0) batches = CeilDiv(samples, each);
    if (parameters_.length == MixtureLength::kShortest)
      batches = k == 0 ? samples / each : std::min(batches, samples / each);
  }
  batches = std::max<std::uint64_t>(batches, 1);
  for (Part& part : parts_) {
    part.draws = batches * part.of_batch * ranks;
    positions_ += part.draws;
  }
}

// Spreads the parts evenly over the word. If a part has n draws in the word, its draw j is due at
// the fraction (2j + 1) / 2n of the word's length.
void MixturePlan::WriteWord() {
  struct Due {
    std::uint64_t twice = 0;  // 2j + 1
    std::uint64_t of = 0;     // n
    std::uint16_t part = 0;
    bool operator>(const Due& other) const noexcept {
      const Wide here = Wide{twice} * other.of;
      const Wide there = Wide{other.twice} * of;
      return here != there ? here > there : part > other.part;
    }
  };
  std::uint64_t rows = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> next;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    rows += parts_[k].in_column;
    if (parts_[k].in_column > 0) next.push({1, parts_[k].in_column, static_cast<std::uint16_t>(k)});
  }
  if (rows > UINT32_MAX) {
    RefusePlan("an epoch of " + std::to_string(positions_) +
                   " samples is too long for so few lanes; raise LoaderOptions::order.lanes",
               ErrorCode::kLimit);
  }
  constexpr std::uint64_t kRowBytes = sizeof(parts_of_word_[0]) + sizeof(before_[0]);
  if (rows > parameters_.most_bytes / kRowBytes) {
    RefusePlan("the plan of an epoch of " + std::to_string(positions_) + " samples takes " +
                   std::to_string(kRowBytes * rows / 1'000'000) + " MB, and there are " +
                   std::to_string(parameters_.most_bytes / 1'000'000) +
                   " MB of memory left; raise LoaderOptions::order.lanes, or make epochs shorter "
                   "(MixtureLength::kSamples)",
               ErrorCode::kLimit);
  }
  parts_of_word_.reserve(rows);
  before_.reserve(rows);
  turns_in_.assign(parts_.size() * (std::min<std::uint64_t>(rows, parameters_.lanes) + 1), 0);
  while (!next.empty()) {
    const Due due = next.top();
    next.pop();
    const std::uint64_t place = parts_of_word_.size();
    parts_of_word_.push_back(due.part);
    before_.push_back(static_cast<std::uint32_t>(due.twice / 2));
    // Counts are needed for the first `lanes` places only: a column's shift is one of these.
    if (place < parameters_.lanes) {
      std::uint16_t* const counts = &turns_in_[place * parts_.size()];
      std::copy_n(counts, parts_.size(), counts + parts_.size());
      ++counts[parts_.size() + due.part];
    }
    if (due.twice / 2 + 1 < due.of) next.push({due.twice + 2, due.of, due.part});
  }
}

std::size_t MixturePlan::PartOfBlock(std::uint64_t block) const noexcept {
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), block,
      [](std::uint64_t number, const Part& part) { return number < part.first_block; });
  return static_cast<std::size_t>(after - parts_.begin()) - 1;
}

// Counts the turns of all parts that are due earlier, or at the same time and of an earlier part.
std::uint64_t MixturePlan::PlaceOf(std::size_t part, std::uint64_t before) const noexcept {
  const Wide of = parts_[part].in_column;
  std::uint64_t place = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    // Turn j of part k is earlier if (2j + 1) x of is less than `due`.
    const Wide due = (2 * Wide{before} + 1) * parts_[k].in_column + (k < part ? 1 : 0);
    if (due > 0) place += static_cast<std::uint64_t>(((due - 1) / of + 1) / 2);
  }
  return place;
}

MixtureOrder::MixtureOrder(std::shared_ptr<const MixturePlan> plan, const OrderParameters& options,
                           std::uint64_t epoch)
    : plan_(std::move(plan)),
      options_(options),
      lanes_(plan_->parameters().lanes),
      key_(RandomStream(options.seed, Purpose::kMixture, epoch).Word64()),
      parts_(plan_->parts().size()),
      partners_(options.seed, epoch) {
  std::uint64_t tail = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const MixturePlan::Part& part = plan_->parts()[k];
    PartState& state = parts_[k];
    state.seed = RandomStream(options.seed, Purpose::kMixturePart, k).Word64();
    // In each dataset, an epoch continues where the epoch before ended. That place is computed, so
    // no earlier epoch need be played.
    const Wide begin = Wide{epoch} * part.draws;
    state.cycle = static_cast<std::uint64_t>(begin / part.shape.samples());
    state.place = static_cast<std::uint64_t>(begin % part.shape.samples());
    // With fewer samples than lanes, some lanes would be empty, and making the order would take
    // more steps than it has samples.
    state.shuffle = part.shape.samples() < lanes_ ? Shuffle::kRandom : options.shuffle;
    tail_start_.push_back(tail);
    tail += part.draws - lanes_ * part.in_column;
  }
  if (plan_->parameters().shares == MixtureShares::kOfEachBatch) return;
  shifts_.Reset(lanes_, key_);
  tail_.Reset(tail, RandomStream(options.seed, Purpose::kMixtureTail, epoch).Word64());
}

MixtureOrder::Draw MixtureOrder::DrawAt(std::uint64_t position) {
  if (plan_->parameters().shares == MixtureShares::kOfEachBatch) return DrawInBatch(position);
  const std::uint64_t rows = plan_->rows();
  const std::uint64_t column = position % lanes_;
  const std::uint64_t row = position / lanes_;
  if (row >= rows) {
    const std::uint64_t left = tail_(position - rows * lanes_);
    const auto after = std::upper_bound(tail_start_.begin(), tail_start_.end(), left);
    const auto part = static_cast<std::size_t>(after - tail_start_.begin()) - 1;
    return {part, plan_->parts()[part].in_column * lanes_ + (left - tail_start_[part])};
  }
  // Columns begin at different places of the word, so that they do not all draw from the same
  // dataset at once.
  const std::uint64_t shift = shifts_(column) % rows;
  const std::uint64_t place = shift + row;
  const bool wraps = place >= rows;
  const MixturePlan::Turn turn = plan_->TurnAt(wraps ? place - rows : place);
  const std::uint64_t before = turn.before + (wraps ? plan_->parts()[turn.part].in_column : 0) -
                               plan_->TurnsIn(shift, turn.part);
  return {turn.part, before * lanes_ + column};
}

MixtureOrder::Draw MixtureOrder::DrawInBatch(std::uint64_t position) {
  const MixtureParameters& parameters = plan_->parameters();
  const std::uint64_t rank = position % parameters.world_size;
  const std::uint64_t nth = position / parameters.world_size;  // counted on that rank
  const std::uint64_t batch = nth / parameters.batch_size;
  PermuteBatch(batch);
  std::uint64_t place = rows_(nth % parameters.batch_size);
  std::size_t part = 0;
  for (; place >= plan_->parts()[part].of_batch; ++part)
    place -= plan_->parts()[part].of_batch;
  const std::uint64_t of_rank = batch * plan_->parts()[part].of_batch + place;
  return {part, of_rank * parameters.world_size + rank};
}

void MixtureOrder::PermuteBatch(std::uint64_t batch) {
  if (batch_ == batch) return;
  rows_.Reset(plan_->parameters().batch_size,
              RandomStream(key_, Purpose::kMixtureTail, batch).Word64());
  batch_ = batch;
}

std::uint64_t MixtureOrder::PositionOf(const Draw& draw) {
  const MixturePlan::Part& part = plan_->parts()[draw.part];
  if (part.of_batch > 0) {
    const MixtureParameters& parameters = plan_->parameters();
    const std::uint64_t of_rank = draw.number / parameters.world_size;
    const std::uint64_t batch = of_rank / part.of_batch;
    std::uint64_t place = of_rank % part.of_batch;
    for (std::size_t k = 0; k < draw.part; ++k)
      place += plan_->parts()[k].of_batch;
    PermuteBatch(batch);
    return (batch * parameters.batch_size + rows_.Inverse(place)) * parameters.world_size +
           draw.number % parameters.world_size;
  }
  const std::uint64_t rows = plan_->rows();
  const std::uint64_t column = draw.number % lanes_;
  const std::uint64_t before = draw.number / lanes_;  // draws of the part in the column
  if (before >= part.in_column) {
    const std::uint64_t left = draw.number - part.in_column * lanes_;
    return rows * lanes_ + tail_.Inverse(tail_start_[draw.part] + left);
  }
  const std::uint64_t shift = shifts_(column) % rows;
  const std::uint64_t turn = (before + plan_->TurnsIn(shift, draw.part)) % part.in_column;
  return (plan_->PlaceOf(draw.part, turn) + rows - shift) % rows * lanes_ + column;
}

// At any time, some columns are a few draws from a part ahead of others (this assumes at most
// kDrawsApart), so the orders of several cycles may be in use at once. If they are further ahead,
// an order that was erased is made again.
std::uint64_t MixtureOrder::MostOrders(const MixturePlan::Part& part,
                                       std::uint64_t lanes) noexcept {
  constexpr std::uint64_t kDrawsApart = 8;
  const std::uint64_t samples = part.shape.samples();
  return std::min(3 + kDrawsApart * lanes / samples, 2 + part.draws / samples);
}

EpochOrder& MixtureOrder::OrderOf(std::size_t k, std::uint64_t cycle) {
  PartState& state = parts_[k];
  const auto found = state.orders.find(cycle);
  if (found != state.orders.end()) return found->second;
  const MixturePlan::Part& part = plan_->parts()[k];
  if (state.orders.size() >= MostOrders(part, lanes_)) state.orders.erase(state.orders.begin());
  OrderParameters options = options_;
  options.seed = state.seed;
  options.shuffle = state.shuffle;
  options.partners = false;
  EpochOrder& order = state.orders
                          .emplace(std::piecewise_construct, std::forward_as_tuple(cycle),
                                   std::forward_as_tuple(part.shape, options, cycle))
                          .first->second;
  if (notes_following_) order.NoteFollowing();
  return order;
}

SampleRef MixtureOrder::Take(const Draw& draw, std::vector<std::uint64_t>& opened, bool fills_up) {
  const MixturePlan::Part& part = plan_->parts()[draw.part];
  const std::uint64_t samples = part.shape.samples();
  const std::uint64_t number = parts_[draw.part].place + draw.number;
  const std::size_t before = opened.size();
  EpochOrder& order = OrderOf(draw.part, parts_[draw.part].cycle + number / samples);
  SampleRef ref = order.At(number % samples, opened, fills_up);
  for (std::size_t i = before; i < opened.size(); ++i)
    opened[i] += part.first_block;
  ref.shard += part.first_shard;
  ref.index += part.first_sample;
  return ref;
}

// Each pass through the dataset has the sample once; the epoch has a part of the first and of the
// last one.
void MixtureOrder::AddPositionsOf(std::uint64_t sample, std::vector<std::uint64_t>& positions) {
  std::size_t k = parts_.size() - 1;
  while (plan_->parts()[k].first_sample > sample)
    --k;
  const MixturePlan::Part& part = plan_->parts()[k];
  const std::uint64_t samples = part.shape.samples();
  const PartState& state = parts_[k];
  std::vector<std::uint64_t> places;
  for (std::uint64_t pass = 0; pass * samples < state.place + part.draws; ++pass) {
    places.clear();
    OrderOf(k, state.cycle + pass).AddPositionsOf(sample - part.first_sample, places);
    const std::uint64_t number = pass * samples + places[0];  // from the first pass's beginning
    if (number >= state.place && number - state.place < part.draws)
      positions.push_back(PositionOf({k, number - state.place}));
  }
}

SampleRef MixtureOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened,
                           bool fills_up) {
  return Take(DrawAt(position), opened, fills_up);
}

// In a row, partners are in other columns; in a batch with fixed shares, at other rows of it.
std::uint64_t MixtureOrder::PartnerOf(std::uint64_t position, std::size_t j) {
  const MixtureParameters& parameters = plan_->parameters();
  if (parameters.shares == MixtureShares::kOfEachBatch) {
    const std::uint64_t world = parameters.world_size, rows = parameters.batch_size;
    const std::uint64_t nth = position / world, row = nth % rows;
    return (nth - row + partners_.InCycle(j, row, rows)) * world + position % world;
  }
  const std::uint64_t body = plan_->rows() * lanes_;
  if (position >= body) return body + partners_.InCycle(j, position - body, tail_.size());
  const std::uint64_t column = position % lanes_, row = position / lanes_;
  const std::uint64_t away = partners_.LanesOf(row)[j] * lanes_ / Partners::kLaneGroups;
  return row * lanes_ + (column + away) % lanes_;
}

SampleRef MixtureOrder::Later(std::uint64_t position, std::uint64_t draws,
                              std::vector<std::uint64_t>& opened) {
  Draw draw = DrawAt(position);
  draw.number += draws;
  return Take(draw, opened, true);
}

void MixtureOrder::NoteFollowing() {
  notes_following_ = true;
  for (PartState& part : parts_)
    for (auto& [cycle, order] : part.orders)
      order.NoteFollowing();
}

std::optional<std::uint64_t> MixtureOrder::TakeFollowing() {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    for (auto& [cycle, order] : parts_[k].orders)
      if (const std::optional<std::uint64_t> block = order.TakeFollowing())
        return *block + plan_->parts()[k].first_block;
  }
  return std::nullopt;
}

std::uint64_t MixtureOrder::SamplesIn(std::uint64_t block) const noexcept {
  const std::size_t k = plan_->PartOfBlock(block);
  const std::uint64_t local = block - plan_->parts()[k].first_block;
  const std::map<std::uint64_t, EpochOrder>& orders = parts_[k].orders;
  return orders.empty() ? plan_->parts()[k].shape.SamplesIn(local)
                        : orders.rbegin()->second.SamplesIn(local);
}

}  // namespace sluice
