#include "reader/pipeline/batch_planner.h"

#include "reader/pipeline/checked_options.h"
#include "reader/pipeline/read_ahead.h"

namespace sluice {

BatchPlanner::BatchPlanner(DatasetState& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(options),
      order_options_(OrderOptionsOf(options)),
      deal_(dataset.shape, DealOptionsOf(options)) {}

void BatchPlanner::BeginEpoch(std::uint64_t epoch) {
  if (!any_planned_) first_epoch_ = epoch;
  any_planned_ = true;
  if (order_ && epoch == epoch_) return;
  if (options_.shards_per_rank) {
    order_.emplace(dataset_.shape, deal_.ShardsOf(epoch), order_options_, epoch);
  } else {
    order_.emplace(dataset_.shape, order_options_, epoch);
  }
  epoch_ = epoch;
  size_ = deal_.SizeOf(epoch);
}

void BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  BeginEpoch(epoch);
  slot.epoch = epoch;
  slot.index = batch;
  slot.size = batch + 1 == size_.batches ? size_.last_rows : options_.batch_size;
  slot.valid = 0;
  slot.image.samples = slot.size;
  slot.draw_seed = DrawSeed(options_.seed, epoch);
  slot.verify = options_.verify == Verify::kAlways ||
                (options_.verify == Verify::kFirstEpoch && epoch == first_epoch_);
  opened_.clear();
  for (std::size_t row = 0; row < slot.size; ++row) {
    const Deal::Row dealt = deal_.RowOf(size_, batch, row);
    slot.valid += dealt.fills_up ? 0 : 1;
    slot.positions[row] = dealt.draw_position;
    slot.refs[row] = order_->At(dealt.position, opened_);
    slot.samples[row] = slot.refs[row].index;
  }
  read_ahead_bytes_ += ReadAhead(dataset_, opened_);
}

}  // namespace sluice
