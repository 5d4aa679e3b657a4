// The members of LoaderSetup are made in the order of their declaration, and each needs earlier
// ones. CheckedOptions() fills in what the user left open. So everything that depends on what the
// user set (decodes_in_consumer, tuning, rank_variables) is taken from the options before they move
// into the recipe. Making the recipe also sets device_layout, since the layout of slots gets its
// part for the device then. The checks of the epoch and of the point to resume from need the deal,
// and come last.
#include "reader/loader/loader_setup.h"

#include <algorithm>

#include "format/remote/local_store.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/decoding/plain_copy.h"
#include "reader/loader/checked_options.h"
#include "reader/order/deal.h"

namespace sluice {

namespace {

// A worker takes many small samples at a time, so that it does not spend its time on the mutex:
// about 64 KiB of payload to decode, or 1 MiB to copy. Either takes a few hundred microseconds.
std::size_t RowsAtOnce(const BatchRecipe& recipe) {
  constexpr std::uint64_t kDecodedBytes = 65536;
  constexpr std::uint64_t kCopiedBytes = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMaxRows = 64;
  const std::size_t field = recipe.layout.picture_field();
  if (field == Schema::kNone) return kMaxRows;
  const ImageSummary& images = recipe.dataset.facts->ImagesOf(field);
  const std::uint64_t mean =
      std::max<std::uint64_t>(images.payload_bytes / std::max<std::uint64_t>(images.present, 1), 1);
  const bool raw = recipe.dataset.facts->RawImageBytes(field) != 0;
  return std::clamp<std::uint64_t>((raw ? kCopiedBytes : kDecodedBytes) / mean, 1, kMaxRows);
}

// Whether threads and slots are spread over the nodes. They are not with page-locked batches, which
// are best near the GPU; nor with the user's functions, which may start threads that would stay on
// the node of the thread that happened to call them.
bool SpreadsOver(const LoaderOptions& options, const CpuNodes& nodes) {
  return options.device.is_host() && !options.ring.pinned && !options.sample_function &&
         !options.batch_function && *options.threads >= 2 * nodes.count();
}

// Whether a batch is copied within a few hundred microseconds.
bool TakesWholeBatches(const BatchRecipe& recipe) {
  constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  return PlainCopy::Serves(recipe) && recipe.layout.bytes <= kMaxBytes;
}

}  // namespace

// Returns the dataset with a shard table of its own, if this loader keeps what it reads on a local
// disk, or reads shards directly; else `shared`. With a stage, a dataset's folder is a store, whose
// blocks are fetched and kept as those of any other store.
Dataset LoaderSetup::OwnShards(const Dataset& shared, const LoaderOptions& options) {
  if (!options.stage && !ReadsDirectly(options)) return shared;
  const DatasetFacts& facts = *shared.state()->facts;
  CheckStorage(facts, options);
  ShardTable::Options own;
  if (options.stage) {
    own.cache = {options.stage->folder, options.stage->bytes};
    if (facts.store == nullptr) own.store = std::make_shared<LocalStore>(facts.place);
  } else {
    own.advice = MapAdvice::kPageByPage;
  }
  return DatasetOf(shared.state()->WithOwnShards(own));
}

LoaderSetup::LoaderSetup(const Dataset& shared, LoaderOptions options, CpuNodes of_machine)
    : dataset(OwnShards(shared, options)),
      decodes_in_consumer(options.threads == 0U),
      tuning(TuningFor(options)),
      rank_variables(options.ranks.world_size == 0 ? Rank::FromEnvironment().variables : ""),
      recipe(*dataset.state(), CheckedOptions(*dataset.state(), std::move(options)),
             [this](SlotLayout& layout, auto&... given) {
               device_layout = DeviceLayout::AddTo(layout, given...);
             }),
      deal(dataset.state()->facts->shape, DealOptionsOf(recipe.options)),
      start(StartOf(*dataset.state(), recipe.options)),
      rows_at_once(RowsAtOnce(recipe)),
      whole_batches(TakesWholeBatches(recipe)),
      nodes(SpreadsOver(recipe.options, of_machine) ? std::move(of_machine) : CpuNodes()) {
  tuning.SetMostPrefetch(*recipe.options.ring.prefetch);
  // If threads take whole batches, a thread makes a batch in less time than it takes to wake a
  // thread that waits for a slot. So the ring is long from the beginning.
  if (whole_batches) tuning.BeginLong();
  CheckStart(*dataset.state()->facts, recipe.options, deal);
}

std::string LoaderSetup::Describe() const {
  const std::optional<ResumePoint>& resume_from = recipe.options.resume_from;
  const EpochSize size = deal.SizeOf(resume_from ? resume_from->epoch : 0);
  const std::string share = ShareText(rank(), size.samples, size.positions);
  return DescriptionOf(recipe, bool(device_layout.room)) + (share.empty() ? "" : share + "\n");
}

LoaderMemory LoaderSetup::Memory() const {
  LoaderMemory memory = MemoryBound(recipe);
  memory.variable = SlotsOf(recipe.options) * recipe.MaxVariableBytes();
  return memory;
}

}  // namespace sluice
