// Asks the order for a batch's samples, notes them in a slot, and has the blocks that the order
// announces read ahead. An epoch is usually planned batch after batch; any other batch begins the
// epoch's order again at its place.
#include "reader/loader/batch_planner.h"

#include <algorithm>

namespace sluice {

BatchPlanner::BatchPlanner(const BatchRecipe& recipe, const Deal& deal, BlockSource& source,
                           const std::atomic<bool>& give_up)
    : recipe_(recipe),
      dataset_(recipe.dataset),
      options_(recipe.options),
      source_(source),
      deal_(deal),
      watch_(dataset_),
      give_up_(give_up),
      still_to_open_(dataset_.facts->shape.blocks()),
      asked_for_(dataset_.facts->shards.size()),
      substitutes_(dataset_, options_),
      columns_(recipe) {}

void BatchPlanner::BeginEpoch(std::uint64_t epoch, std::uint64_t batch) {
  if (epoch_ && epoch == epoch_->epoch && batch == next_batch_) return;
  dataset_.table.ForgetFaults();
  columns_.ForgetFaults();
  // The new order announces every block that it needs. So it begins with no block open, not even
  // those that the order of an unfinished epoch announced.
  epoch_.reset();
  source_.CloseAll();
  epoch_.emplace(dataset_.facts->shape, options_, deal_, epoch, &give_up_);
  source_.BeginEpoch(epoch);
  if (source_.MayTakeSuggestions()) epoch_->order.NoteFollowing();
  played_ = 0;
  watch_.BeginEpoch();
}

void BatchPlanner::Cancel() {
  source_.Cancel();
  epoch_.reset();  // the blocks that it announced will not be read
}

std::uint64_t BatchPlanner::Plan(std::uint64_t epoch, std::uint64_t batch, Slot& slot) {
  BeginEpoch(epoch, batch);
  next_batch_ = batch + 1;
  const EpochSize& size = epoch_->size;
  slot.index = batch;
  BeginBatch(slot, recipe_, epoch, deal_.RowsOf(size, batch));
  to_open_.clear();
  watch_.BeginBatch();
  const std::size_t planned = FillRows(batch, slot);
  AskForFrames();
  const std::uint64_t needed = OpenBlocks(slot, planned);
  source_.EndBatch();
  columns_.Open(slot, planned);
  watch_.EndBatch();
  SuggestFollowing(slot.rows);
  return needed;
}

// If all blocks have one size, lanes reach the ends of their windows together, and the order opens
// blocks in bursts of half a window or more. The ring may be too short to hide such a burst, so
// this suggests blocks of the next windows as fast as blocks are played.
void BatchPlanner::SuggestFollowing(std::size_t rows) {
  played_ += rows;
  while (played_ >= dataset_.facts->shape.max_block_samples()) {
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

// Stops early if nobody wants the batch any more, since a batch may take long: the order may have
// to open many blocks.
std::size_t BatchPlanner::FillRows(std::uint64_t batch, Slot& slot) {
  constexpr std::size_t kRun = 64;
  const Deal::OwnRows own = deal_.OwnRowsOf(epoch_->size, batch, slot.rows);
  slot.valid = own.count;
  std::size_t row = 0;
  while (row < slot.rows && !give_up_.load(std::memory_order_relaxed)) {
    const std::size_t end = std::min(row + kRun, row < own.count ? own.count : slot.rows);
    if (row < own.count && !slot.has_partners) {
      epoch_->order.Run(own.position + row * own.stride, own.stride,
                        std::span(slot.refs).subspan(row, end - row), to_open_);
      for (; row < end; ++row)
        NoteRow(slot, row, SampleFlag::kOwn, own.draw_position + row * own.draw_stride);
      continue;
    }
    // Row by row, in the order of positions: a window is entered once, though a line's partners
    // enter it before its own row does.
    for (; row < end; ++row) {
      const bool fills_up = row >= own.count;
      const Deal::Row dealt =
          fills_up ? deal_.RowOf(epoch_->size, batch, row)
                   : Deal::Row{.position = own.position + row * own.stride,
                               .draw_position = own.draw_position + row * own.draw_stride};
      slot.refs[row] = epoch_->order.At(dealt.position, to_open_, fills_up);
      NoteRow(slot, row, fills_up ? SampleFlag::kFillsUp : SampleFlag::kOwn, dealt.draw_position);
      if (slot.has_partners) PlanPartners(slot, row, dealt.position, fills_up);
    }
  }
  return row;
}

namespace {
// The samples that the planner finds for each row.
std::size_t PlannedParts(const Slot& slot) noexcept {
  return slot.has_partners ? slot.layout->parts : 1;
}
}  // namespace

std::uint64_t BatchPlanner::BlockOf(const SampleRef& ref) const noexcept {
  return dataset_.facts->shape.first_block(ref.shard) + ref.block;
}

void BatchPlanner::NoteRow(Slot& slot, std::size_t row, SampleFlag flag, std::uint64_t position) {
  const SampleRef& ref = slot.refs[row];
  slot.flags[row] = flag;
  slot.positions[row] = position;
  slot.samples[row] = ref.index;
  if (slot.has_partners) CountParts(recipe_, slot, row);
  watch_.Use(ref.shard);
  if (dataset_.facts->Deleted(ref.index)) TreatDeleted(slot, row);
}

void BatchPlanner::PlanPartners(Slot& slot, std::size_t row, std::uint64_t position,
                                bool fills_up) {
  const std::size_t parts = PlannedParts(slot);
  for (std::size_t part = 1; part < parts; ++part) {
    RowPartner& partner = PartnerOf(slot, row, part);
    const std::uint64_t at = epoch_->order.PartnerOf(position, part - 1);
    partner.ref = epoch_->order.At(at, to_open_, fills_up);
    partner.position = deal_.DrawPosition(at);
    if (dataset_.facts->Deleted(partner.ref.index)) {
      deleted_.emplace_back(row * parts + part, BlockOf(partner.ref));
      partner.ref = substitutes_.InsteadOfPartner(slot.epoch, partner.position, slot.refs[row]);
    }
    watch_.Use(partner.ref.shard);
  }
}

// The order knows nothing of deleted samples, so that no other sample moves.
void BatchPlanner::TreatDeleted(Slot& slot, std::size_t row) {
  deleted_.emplace_back(row * PlannedParts(slot), BlockOf(slot.refs[row]));
  std::optional<SampleRef> there;
  if (options_.order.deleted != DeletedSamples::kLeaveOut)
    there = substitutes_.ThereAt(slot.epoch, slot.positions[row]);
  if (!there) {
    slot.flags[row] = kLeftOut;
    return;
  }
  slot.refs[row] = *there;
  slot.samples[row] = there->index;
  if (slot.flags[row] == SampleFlag::kOwn) slot.flags[row] = SampleFlag::kSubstitute;
  watch_.Use(there->shard);
}

// Opening a shard reads its frame: its first and last pages, with header and directory. If a batch
// needs many shards that are not in memory, and they were opened one by one, each of these reads
// would wait for all blocks that were asked for before it. So this asks for all frames together.
void BatchPlanner::AskForFrames() {
  for (const std::uint64_t block : to_open_) {
    const std::uint32_t shard = dataset_.facts->shape.Record(block, 0).shard;
    if (asked_for_[shard]) continue;
    asked_for_[shard] = true;
    dataset_.table.AskForFrame(shard);
  }
}

// Opens the blocks that the order has announced: first the blocks of the batch's rows, in the order
// of the rows, and then the other blocks of the windows. So the first batch of an epoch, which
// opens all windows, waits for no more than it needs.
std::uint64_t BatchPlanner::OpenBlocks(Slot& slot, std::size_t rows) {
  const bool holds = source_.holds_blocks();
  if (holds) slot.blocks.resize(options_.batch_size);
  for (const std::uint64_t block : to_open_)
    still_to_open_[block] = true;
  const std::size_t parts = PlannedParts(slot);
  auto deleted = deleted_.begin();
  for (std::size_t i = 0; i < rows * parts && (holds || !to_open_.empty()); ++i) {
    const std::size_t row = i / parts, part = i % parts;
    const std::uint64_t own = BlockOf(RefOf(slot, row, part));
    // The order has counted a deleted sample among those of its block. A substitute's own block is
    // read when the row is decoded.
    const bool gone = deleted != deleted_.end() && deleted->first == i;
    const std::uint64_t block = gone ? (deleted++)->second : own;
    if (still_to_open_[block]) Open(block);
    if (!holds) continue;
    std::shared_ptr<const HeldBlock> held = source_.Use(block);
    if (slot.flags[row] == kLeftOut || block != own) held.reset();
    (part == 0 ? slot.blocks[row] : PartnerOf(slot, row, part).block) = std::move(held);
  }
  deleted_.clear();
  const std::uint64_t needed = source_.opened();
  for (const std::uint64_t block : to_open_)
    if (still_to_open_[block]) Open(block);
  return needed;
}

void BatchPlanner::Open(std::uint64_t block) {
  still_to_open_[block] = false;
  source_.Open(block, epoch_->order.SamplesIn(block));
}

}  // namespace sluice
