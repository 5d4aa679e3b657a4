#include "reader/loader/batch_planner.h"

#include <algorithm>

#include "reader/loader/checked_options.h"
#include "reader/reading/mapped_read_ahead.h"

namespace sluice {

BatchPlanner::BatchPlanner(DatasetState& dataset, const LoaderOptions& options,
                           const std::vector<ViewProgram>& views, const FieldChoice& choice,
                           const DecodedStore* store, DirectFiles* direct,
                           const std::atomic<bool>& give_up)
    : dataset_(dataset),
      options_(options),
      views_(views),
      deal_(dataset.shape, DealOptionsOf(options)),
      behind_(dataset, options),
      watch_(dataset),
      give_up_(give_up) {
  if (direct == nullptr) {
    auto reading = std::make_unique<MappedReadAhead>(dataset, choice, store, give_up);
    if (behind_.active()) {
      reading->BeforeReading([this](std::uint32_t shard, const ShardFile& file) {
        behind_.PrepareShard(shard, file);
      });
      reading->WhenRead([this](std::uint64_t block) { behind_.Trim(block); });
    }
    reading_ = std::move(reading);
  } else {
    auto reading = std::make_unique<DirectReadAhead>(
        dataset, choice, store, *direct, options.order.shuffle == Shuffle::kSequential, give_up);
    direct_ = reading.get();
    reading_ = std::move(reading);
  }
}

void BatchPlanner::BeginEpoch(std::uint64_t epoch, std::uint64_t batch) {
  if (plan_ && epoch == plan_->epoch && batch == next_batch_) return;
  dataset_.ForgetFaults();
  // An order that was left in the middle has announced blocks that may be gone by now.
  plan_.reset();
  behind_.CloseAll();
  if (direct_ != nullptr) direct_->CloseAll();
  plan_.emplace(dataset_.shape, options_, deal_, epoch, &give_up_);
  if (stage_ == nullptr && direct_ == nullptr) plan_->order.NoteFollowing();
  played_ = 0;
  watch_.BeginEpoch();
}

void BatchPlanner::Cancel() {
  reading_->Cancel();
  plan_.reset();  // it has announced blocks that will not come
  behind_.CloseAll();
}

std::uint64_t BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
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
  reading_->Begin();
  SuggestFollowing(slot.rows);
  behind_.EndBatch();
  return reading_->asked();
}

// Lanes with blocks of one size come to the ends of their windows together, and so the order opens
// blocks in bursts, of half a window and more: the ring may be too short for them. Blocks of the
// windows behind are therefore suggested as fast as blocks are played.
void BatchPlanner::SuggestFollowing(std::size_t rows) {
  played_ += rows;
  while (played_ >= dataset_.shape.max_block_samples()) {
    std::optional<std::uint64_t> block;
    if (reading_->TakesSuggestions()) block = plan_->order.TakeFollowing();
    if (!block) {
      played_ = 0;
      return;
    }
    reading_->Suggest(*block);
    if (behind_.active()) behind_.Expect(*block);
    played_ -= std::min(played_, plan_->order.SamplesIn(*block));
  }
}

void BatchPlanner::FillRows(std::uint64_t batch, Slot& slot) {
  if (direct_ != nullptr) slot.blocks.resize(options_.batch_size);
  // A batch that nobody wants any more is not planned to its end: windows may be of many blocks.
  for (std::size_t row = 0; row < slot.rows && !give_up_.load(std::memory_order_relaxed); ++row) {
    const Deal::Row dealt = deal_.RowOf(plan_->size, batch, row);
    slot.valid += dealt.fills_up ? 0 : 1;
    slot.flags[row] = dealt.fills_up ? SampleFlag::kFillsUp : SampleFlag::kOwn;
    slot.positions[row] = dealt.draw_position;
    const std::size_t before = opened_.size();
    const SampleRef ref = plan_->order.At(dealt.position, opened_, dealt.fills_up);
    slot.refs[row] = ref;
    slot.samples[row] = ref.index;
    watch_.Use(ref.shard);
    const std::uint64_t block = dataset_.shape.first_block(ref.shard) + ref.block;
    for (std::size_t i = before; i < opened_.size(); ++i)
      Announce(opened_[i]);
    if (direct_ != nullptr) slot.blocks[row] = direct_->Use(block);
    if (behind_.active()) behind_.Use(block);
  }
}

void BatchPlanner::Announce(std::uint64_t block) {
  if (direct_ == nullptr) {
    reading_->Ask(block);
    if (behind_.active()) behind_.Open(block, plan_->order.SamplesIn(block));
  } else {
    direct_->Open(block, plan_->order.SamplesIn(block));
  }
}

}  // namespace sluice
