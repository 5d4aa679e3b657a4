// A row's random steps depend on its position in the epoch, which RowsOf() finds with the loader's
// own options. Only the row itself is made with those of RowOptions(): a batch of one row, on the
// host, without mixing.
//
// The slot does not belong to the ring. It keeps the worker alive, because the worker's recipe has
// the slot's layout. There is one worker, so calls take turns.
#include "reader/loader/row_on_demand.h"

#include <algorithm>

#include "reader/dataset/rank_epoch.h"
#include "reader/decoding/faults.h"
#include "reader/loader/loader_setup.h"
#include "reader/order/sample_draw.h"
#include "reader/transform/batch_mix.h"

namespace sluice {

namespace {

void RemoveMixes(Pipeline& steps) {
  std::erase_if(steps, [](const Transform& step) { return MixStepOf(step).has_value(); });
}

// The options for a batch of one row, made on the host.
LoaderOptions RowOptions(LoaderOptions options) {
  options.batch_size = 1;
  options.device = {};
  options.on_device.decode = DecodeOn::kHost;
  options.on_device.images = ImagesIn::kStorage;
  options.ring.pinned = false;
  options.integrity.on_fault = OnFault::kError;
  RemoveMixes(options.transform);
  for (ScheduledTransform& later : options.schedule)
    RemoveMixes(later.transform);
  return options;
}

// The draw position of the first row that has the sample. Neither kDrop nor order.skip matters: the
// row of a batch that is left out can be looked at, too.
std::uint64_t PositionOf(const DatasetFacts& dataset, LoaderOptions options, std::uint64_t sample,
                         std::uint64_t epoch) {
  options.ranks.last_batch = LastBatch::kKeep;
  options.order.skip.clear();
  const std::vector<PlayedRow> rows = RowsOf(dataset, options, {&sample, 1}, {&epoch, 1});
  if (rows.empty()) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "epoch " + std::to_string(epoch) + " does not have sample " +
                    std::to_string(sample) + " (LoaderOptions::order)");
  }
  return std::ranges::min_element(rows, {}, &PlayedRow::position)->position;
}

// Finds the partners of the slot's row, which has that draw position.
void FindPartners(const DatasetState& dataset, LoaderOptions options, std::uint64_t draw_position,
                  Slot& slot) {
  const std::uint64_t world = options.ranks.by_shards ? options.ranks.world_size : 1;
  if (options.ranks.by_shards) options.ranks.rank = static_cast<unsigned>(draw_position % world);
  const Deal deal(dataset.facts->shape, DealOptionsOf(options));
  RankEpoch epoch(dataset.facts->shape, options, deal, slot.epoch);
  Substitutes substitutes(dataset, options);
  std::vector<std::uint64_t> opened;
  for (std::size_t part = 1; part < slot.layout->parts; ++part) {
    RowPartner& partner = PartnerOf(slot, 0, part);
    const std::uint64_t at = epoch.order.PartnerOf(draw_position / world, part - 1);
    partner.ref = epoch.order.At(at, opened, true);
    partner.position = deal.DrawPosition(at);
    if (dataset.facts->Deleted(partner.ref.index))
      partner.ref = substitutes.InsteadOfPartner(slot.epoch, partner.position, slot.refs[0]);
  }
}

}  // namespace

RowOnDemand::Worker::Worker(const LoaderSetup& setup, const DecodingContext& context)
    : recipe(setup.recipe.dataset, RowOptions(setup.recipe.options)),
      rows(recipe, context, faults) {
  // The layout, made above, has the fields that batch_function makes. The function itself is not
  // called, because it needs a whole batch.
  recipe.options.batch_function = nullptr;
  rows.SetUp(0);
}

std::shared_ptr<const Slot> RowOnDemand::Make(std::uint64_t sample, std::uint64_t epoch,
                                              std::shared_ptr<void> owner) {
  const MutexLock lock(mutex_);
  if (worker_ == nullptr) worker_ = std::make_shared<Worker>(setup_, context_);
  const BatchRecipe& recipe = worker_->recipe;
  const DatasetFacts& dataset = *recipe.dataset.facts;
  dataset.RequireThere(sample);
  const std::uint64_t position = PositionOf(dataset, setup_.recipe.options, sample, epoch);
  struct Kept {
    std::shared_ptr<void> owner;
    std::shared_ptr<Worker> worker;  // has the slot's layout
    Slot slot;
  };
  auto kept = std::make_shared<Kept>();
  kept->owner = std::move(owner);
  kept->worker = worker_;
  Slot& slot = kept->slot;
  Prepare(slot, recipe.layout, HostBuffer(recipe.layout.bytes));
  // The batch in which the training plays the row, which may decide its size.
  const LoaderOptions& options = setup_.recipe.options;
  slot.index = position / (options.batch_size * std::uint64_t{setup_.rank().world_size});
  if (const auto& lists = options.order.batches.lists()) {
    const std::vector<std::uint64_t>& begins = lists->Of(epoch)->begins;
    slot.index =
        static_cast<std::uint64_t>(std::ranges::upper_bound(begins, position) - begins.begin()) - 1;
  }
  BeginBatch(slot, recipe, epoch, 1);
  slot.index = 0;
  slot.valid = 1;
  slot.refs[0] = dataset.shape.Sample(sample);
  slot.flags[0] = SampleFlag::kOwn;
  slot.positions[0] = position;
  slot.samples[0] = sample;
  if (slot.has_partners) {
    CountParts(recipe, slot, 0);
    FindPartners(recipe.dataset, setup_.recipe.options, position, slot);
  }
  slot.blocks.resize(context_.holds_blocks ? 1 : 0);
  SlotFiller::Outcome outcome = worker_->rows.Fill(slot, 0, 1);
  if (!outcome.error) outcome.error = worker_->rows.Close(slot);
  if (outcome.error) throw *outcome.error;
  slot.files.clear();
  for (RowPartner& partner : slot.partners)
    partner.file.reset();
  return {kept, &slot};
}

LoaderMemory RowOnDemand::Memory() {
  const MutexLock lock(mutex_);
  return worker_ == nullptr ? LoaderMemory() : RowBound(worker_->recipe, setup_.recipe);
}

}  // namespace sluice
