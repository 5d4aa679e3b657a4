#include "reader/pipeline/batch_planner.h"

#include "reader/pipeline/checked_options.h"
#include "reader/pipeline/read_ahead.h"

namespace sluice {

BatchPlanner::BatchPlanner(DatasetState& dataset, const LoaderOptions& options,
                           const FieldChoice& choice, const DecodedStore* store,
                           const std::atomic<bool>& give_up)
    : dataset_(dataset),
      options_(options),
      choice_(choice),
      store_(store),
      give_up_(give_up),
      deal_(dataset.shape, DealOptionsOf(options)),
      behind_(dataset, options) {}

void BatchPlanner::BeginEpoch(std::uint64_t epoch, std::uint64_t batch) {
  if (!any_planned_) first_epoch_ = epoch;
  any_planned_ = true;
  if (plan_ && epoch == plan_->epoch && batch == next_batch_) return;
  // An order that was left in the middle has announced blocks that may be gone by now.
  plan_.reset();
  behind_.CloseAll();
  plan_.emplace(dataset_.shape, options_, deal_, epoch);
}

void BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  BeginEpoch(epoch, batch);
  next_batch_ = batch + 1;
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
  const bool first = epoch == first_epoch_;
  slot.verify = options_.verify == Verify::kAlways || options_.verify == Verify::kAuto ||
                (options_.verify == Verify::kFirstEpoch && first);
  slot.verify_raw = slot.verify && (options_.verify != Verify::kAuto || first);
  opened_.clear();
  FillRows(batch, slot);
  if (stage_ != nullptr) {
    for (std::size_t row = 0; row < slot.rows; ++row)
      stage_->Want(slot.refs[row].shard);
    for (const std::uint64_t block : opened_)
      stage_->Want(dataset_.shape.Row(block, 0).shard);
  }
  read_ahead_bytes_ += ReadAhead(dataset_, choice_, store_, opened_, give_up_);
  behind_.EndBatch();
}

void BatchPlanner::FillRows(std::uint64_t batch, Slot& slot) {
  const bool let_go = behind_.active();
  for (std::size_t row = 0; row < slot.rows; ++row) {
    const Deal::Row dealt = deal_.RowOf(plan_->size, batch, row);
    slot.valid += dealt.fills_up ? 0 : 1;
    slot.flags[row] = dealt.fills_up ? SampleFlag::kFillsUp : SampleFlag::kOwn;
    slot.positions[row] = dealt.draw_position;
    const std::size_t before = opened_.size();
    const SampleRef ref = plan_->order.At(dealt.position, opened_);
    slot.refs[row] = ref;
    slot.samples[row] = ref.index;
    if (!let_go) continue;
    for (std::size_t i = before; i < opened_.size(); ++i)
      behind_.Open(opened_[i], plan_->order.SamplesIn(opened_[i]));
    behind_.Use(dataset_.shape.first_block(ref.shard) + ref.block);
  }
}

}  // namespace sluice
