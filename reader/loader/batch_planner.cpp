#include "reader/loader/batch_planner.h"

#include <algorithm>

namespace sluice {

BatchPlanner::BatchPlanner(const BatchRecipe& recipe, const Deal& deal, BlockSource& source,
                           ShardStage* stage, const std::atomic<bool>& give_up)
    : dataset_(recipe.dataset),
      options_(recipe.options),
      views_(recipe.views),
      source_(source),
      stage_(stage),
      deal_(deal),
      watch_(dataset_),
      give_up_(give_up) {}

void BatchPlanner::BeginEpoch(std::uint64_t epoch, std::uint64_t batch) {
  if (epoch_ && epoch == epoch_->epoch && batch == next_batch_) return;
  dataset_.ForgetFaults();
  // Blocks that an unfinished order announced may be gone by now.
  epoch_.reset();
  source_.CloseAll();
  epoch_.emplace(dataset_.shape, options_, deal_, epoch, &give_up_);
  source_.BeginEpoch(epoch);
  if (stage_ == nullptr && source_.MayTakeSuggestions()) epoch_->order.NoteFollowing();
  played_ = 0;
  watch_.BeginEpoch();
}

void BatchPlanner::Cancel() {
  source_.Cancel();
  epoch_.reset();  // its announced blocks will not come
}

std::uint64_t BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  BeginEpoch(epoch, batch);
  next_batch_ = batch + 1;
  const EpochSize& size = epoch_->size;
  slot.epoch = epoch;
  slot.index = batch;
  slot.rows = batch + 1 == size.batches ? size.last_rows : options_.batch_size;
  slot.size = slot.rows;
  if (slot.layout->image_field != Schema::kNone) slot.image.samples = slot.rows;
  for (FurtherImage& further : slot.further_images)
    further.image.samples = slot.rows;
  slot.valid = 0;
  slot.draw_seed = DrawSeed(options_.seed, epoch);
  slot.view_seeds.resize(views_.size());
  std::vector<std::size_t> stages;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    slot.view_seeds[v] = DrawSeed(options_.seed, epoch, static_cast<std::uint16_t>(v));
    stages.push_back(views_[v].geometry.StageOf(epoch));
  }
  SetStages(slot, std::move(stages));
  opened_.clear();
  watch_.BeginBatch();
  FillRows(batch, slot);
  if (stage_ != nullptr) {
    for (std::size_t row = 0; row < slot.rows; ++row)
      stage_->Want(slot.refs[row].shard);
    for (const std::uint64_t block : opened_)
      stage_->Want(dataset_.shape.Row(block, 0).shard);
  }
  source_.EndBatch();
  SuggestFollowing(slot.rows);
  return source_.opened();
}

// If all blocks have one size, lanes reach the ends of their windows together, and the order opens
// blocks in bursts of half a window or more. The ring may be too short to hide such a burst, so
// this suggests blocks of the next windows as fast as blocks are played.
void BatchPlanner::SuggestFollowing(std::size_t rows) {
  played_ += rows;
  while (played_ >= dataset_.shape.max_block_samples()) {
    std::optional<std::uint64_t> block;
    if (source_.TakesSuggestions()) block = epoch_->order.TakeFollowing();
    if (!block) {
      played_ = 0;
      return;
    }
    source_.Suggest(*block);
    played_ -= std::min(played_, epoch_->order.SamplesIn(*block));
  }
}

void BatchPlanner::FillRows(std::uint64_t batch, Slot& slot) {
  const bool holds = source_.holds_blocks();
  if (holds) slot.blocks.resize(options_.batch_size);
  // Stops if nobody wants the batch any more: a window may have many blocks to open.
  for (std::size_t row = 0; row < slot.rows && !give_up_.load(std::memory_order_relaxed); ++row) {
    const Deal::Row dealt = deal_.RowOf(epoch_->size, batch, row);
    slot.valid += dealt.fills_up ? 0 : 1;
    slot.flags[row] = dealt.fills_up ? SampleFlag::kFillsUp : SampleFlag::kOwn;
    slot.positions[row] = dealt.draw_position;
    const std::size_t before = opened_.size();
    const SampleRef ref = epoch_->order.At(dealt.position, opened_, dealt.fills_up);
    slot.refs[row] = ref;
    slot.samples[row] = ref.index;
    watch_.Use(ref.shard);
    const std::uint64_t block = dataset_.shape.first_block(ref.shard) + ref.block;
    for (std::size_t i = before; i < opened_.size(); ++i)
      source_.Open(opened_[i], epoch_->order.SamplesIn(opened_[i]));
    std::shared_ptr<const HeldBlock> held = source_.Use(block);
    if (holds) slot.blocks[row] = std::move(held);
  }
}

}  // namespace sluice
