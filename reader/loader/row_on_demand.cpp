// A row's random steps depend on its position in the epoch, so the position of the sample must be
// found first. Orders cannot be inverted: Find() walks through the epoch until the sample comes, in
// the orders of all ranks if whole shards are dealt. It walks with the loader's own options. Only
// the row itself is made with those of RowOptions(): a batch of one row, on the host, without
// mixing.
//
// The slot does not belong to the ring. It keeps the worker alive, because the worker's recipe has
// the slot's layout. There is one worker, so calls take turns.
#include "reader/loader/row_on_demand.h"

#include <algorithm>
#include <optional>

#include "reader/dataset/rank_epoch.h"
#include "reader/loader/loader_setup.h"
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

// A sample in an epoch, with the draw position of the first row that has it.
struct Found {
  SampleRef ref;
  std::uint64_t draw_position = 0;
};

// Walks through the order's positions until the sample comes. If whole shards are dealt, each rank
// has an order of its own: this is the one of options.ranks.rank.
std::optional<Found> FindIn(const DatasetShape& shape, const LoaderOptions& options,
                            std::uint64_t sample, std::uint64_t number) {
  const Deal deal(shape, DealOptionsOf(options));
  RankEpoch epoch(shape, options, deal, number);
  std::vector<SampleRef> refs(4096);
  std::vector<std::uint64_t> opened;
  for (std::uint64_t p = 0; p < epoch.size.domain; p += refs.size()) {
    const std::span<SampleRef> run =
        std::span(refs).first(std::min<std::uint64_t>(refs.size(), epoch.size.domain - p));
    opened.clear();
    epoch.order.Run(p, 1, run, opened);
    const auto found =
        std::ranges::find_if(run, [sample](const SampleRef& ref) { return ref.index == sample; });
    if (found == run.end()) continue;
    const std::uint64_t position = p + static_cast<std::uint64_t>(found - run.begin());
    const RankOptions& ranks = options.ranks;
    return Found{*found, ranks.by_shards ? position * ranks.world_size + ranks.rank : position};
  }
  return std::nullopt;
}

Found Find(const DatasetFacts& dataset, LoaderOptions options, std::uint64_t sample,
           std::uint64_t epoch) {
  const unsigned orders = options.ranks.by_shards ? options.ranks.world_size : 1;
  for (unsigned rank = 0; rank < orders; ++rank) {
    if (options.ranks.by_shards) options.ranks.rank = rank;
    if (const std::optional<Found> found = FindIn(dataset.shape, options, sample, epoch))
      return *found;
  }
  throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
              sample < dataset.shape.samples()
                  ? "epoch " + std::to_string(epoch) + " does not have sample " +
                        std::to_string(sample) + " (LoaderOptions::order)"
                  : "there is no sample " + std::to_string(sample) + ": the dataset has " +
                        std::to_string(dataset.shape.samples()));
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
  const Found found = Find(recipe.dataset, setup_.recipe.options, sample, epoch);
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
  BeginBatch(slot, recipe, epoch, 1);
  slot.valid = 1;
  slot.refs[0] = found.ref;
  slot.flags[0] = SampleFlag::kOwn;
  slot.positions[0] = found.draw_position;
  slot.samples[0] = sample;
  slot.blocks.resize(context_.holds_blocks ? 1 : 0);
  SlotFiller::Outcome outcome = worker_->rows.Fill(slot, 0, 1);
  if (!outcome.error) outcome.error = worker_->rows.Close(slot);
  if (outcome.error) throw *outcome.error;
  slot.files.clear();
  return {kept, &slot};
}

LoaderMemory RowOnDemand::Memory() {
  const MutexLock lock(mutex_);
  return worker_ == nullptr ? LoaderMemory() : RowBound(worker_->recipe, setup_.recipe);
}

}  // namespace sluice
