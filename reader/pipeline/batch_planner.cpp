#include "reader/pipeline/batch_planner.h"

#include "reader/pipeline/checked_options.h"
#include "reader/pipeline/read_ahead.h"

namespace sluice {

BatchPlanner::BatchPlanner(DatasetState& dataset, const LoaderOptions& options,
                           const FieldChoice& choice)
    : dataset_(dataset),
      options_(options),
      choice_(choice),
      deal_(dataset.shape, DealOptionsOf(options)) {}

void BatchPlanner::BeginEpoch(std::uint64_t epoch) {
  if (!any_planned_) first_epoch_ = epoch;
  any_planned_ = true;
  if (plan_ && epoch == plan_->epoch) return;
  plan_.reset();
  plan_.emplace(dataset_.shape, options_, deal_, epoch);
}

void BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  BeginEpoch(epoch);
  const EpochSize& size = plan_->size;
  slot.epoch = epoch;
  slot.index = batch;
  slot.rows = batch + 1 == size.batches ? size.last_rows : options_.batch_size;
  slot.size = slot.rows;
  if (slot.layout->image_field != Schema::kNone) slot.image.samples = slot.rows;
  for (FurtherImage& further : slot.further_images)
    further.image.samples = slot.rows;
  slot.valid = 0;
  slot.draw_seed = DrawSeed(options_.seed, epoch);
  slot.verify = options_.verify == Verify::kAlways ||
                (options_.verify == Verify::kFirstEpoch && epoch == first_epoch_);
  opened_.clear();
  for (std::size_t row = 0; row < slot.rows; ++row) {
    const Deal::Row dealt = deal_.RowOf(size, batch, row);
    slot.valid += dealt.fills_up ? 0 : 1;
    slot.flags[row] = dealt.fills_up ? SampleFlag::kFillsUp : SampleFlag::kOwn;
    slot.positions[row] = dealt.draw_position;
    slot.refs[row] = plan_->order.At(dealt.position, opened_);
    slot.samples[row] = slot.refs[row].index;
  }
  read_ahead_bytes_ += ReadAhead(dataset_, choice_, opened_);
}

}  // namespace sluice
