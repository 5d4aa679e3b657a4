#include "reader/order/mixture_order.h"

#include <algorithm>

#include "format/random.h"

namespace sluice {

MixtureOrder::MixtureOrder(std::shared_ptr<const MixturePlan> plan, const OrderParameters& options,
                           std::uint64_t epoch)
    : plan_(std::move(plan)),
      options_(options),
      lanes_(plan_->parameters().lanes),
      key_(RandomStream(options.seed, Purpose::kMixture, epoch).Word64()),
      parts_(plan_->parts().size()) {
  std::uint64_t tail = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const MixturePlan::Part& part = plan_->parts()[k];
    PartState& state = parts_[k];
    state.seed = RandomStream(options.seed, Purpose::kMixturePart, k).Word64();
    const Wide begin = Wide{epoch} * part.draws;
    state.cycle = static_cast<std::uint64_t>(begin / part.shape.samples());
    state.place = static_cast<std::uint64_t>(begin % part.shape.samples());
    // Lanes of so few samples would be empty, and making an order of them costs more than it has
    // samples.
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
  const std::uint64_t nth = position / parameters.world_size;  // of that rank
  const std::uint64_t batch = nth / parameters.batch_size;
  if (batch_ != batch) {
    rows_.Reset(parameters.batch_size, RandomStream(key_, Purpose::kMixtureTail, batch).Word64());
    batch_ = batch;
  }
  std::uint64_t place = rows_(nth % parameters.batch_size);
  std::size_t part = 0;
  for (; place >= plan_->parts()[part].of_batch; ++part)
    place -= plan_->parts()[part].of_batch;
  const std::uint64_t of_rank = batch * plan_->parts()[part].of_batch + place;
  return {part, of_rank * parameters.world_size + rank};
}

// Columns are a few rows apart: kRowsApart, and those of the tail. If they are further apart, an
// order is made again.
std::uint64_t MixtureOrder::MostOrders(const MixturePlan::Part& part,
                                       std::uint64_t lanes) noexcept {
  constexpr std::uint64_t kRowsApart = 8;
  const std::uint64_t samples = part.shape.samples();
  return std::min(3 + kRowsApart * lanes / samples, 2 + part.draws / samples);
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

SampleRef MixtureOrder::At(std::uint64_t position, std::vector<std::uint64_t>& opened,
                           bool fills_up) {
  return Take(DrawAt(position), opened, fills_up);
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
