#include "reader/decoding/substitutes.h"

namespace sluice {

SampleRef Substitutes::At(std::uint64_t epoch, std::uint64_t draw_position, unsigned attempt) {
  if (!order_ || order_->epoch != epoch) {
    order_.reset();
    order_.emplace(dataset_.shape, options_, deal_, epoch);
  }
  const std::uint64_t position =
      options_.ranks.by_shards ? draw_position / options_.ranks.world_size : draw_position;
  const std::uint64_t stride =
      options_.order.shuffle == Shuffle::kQuasiRandom ? options_.order.lanes : 1;
  const std::uint64_t away = stride * attempt * (attempt + 1) / 2;
  opened_.clear();
  return order_->order.Substitute(position, away, order_->size.domain, opened_);
}

}  // namespace sluice
