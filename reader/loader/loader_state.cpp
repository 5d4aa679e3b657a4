// Builds a loader and runs it. The constructor makes everything in the order of need: caches and
// files, the device, the ring, the source of blocks, and then the threads, so that a lack of memory
// is reported by the constructor and not by a thread.
//
// One thread plans batches into free slots; the decoder threads fill their rows; if uploads have
// threads of their own, one starts and one finishes them. Without decoder threads, the consumer
// decodes while it waits. After construction, this object hands calls on to the ring and sums up
// figures.
#include "reader/loader/loader_state.h"

#include <sluice/metrics.h>
#include <sluice/shown_path.h>

#include "reader/dataset/options_of.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/loader_setup.h"
#include "reader/loader/loader_threads.h"
#include "reader/reading/block_source.h"
#include "reader/reading/page_map.h"
#include "reader/upload/device_slot.h"

namespace sluice {

namespace {

// The cache for LoaderOptions::keep, or null. Neither masks nor wide images are kept as pictures: a
// kept picture is resampled, as masks must not be, and has 8 bits.
std::unique_ptr<DecodedPictureCache> MakeDecodedPictureCache(const BatchRecipe& recipe) {
  const SlotLayout& layout = recipe.layout;
  const bool pictures =
      !layout.images.empty() && !layout.picture().nearest && !layout.picture().wide;
  if (!recipe.options.keep || (!pictures && !KeepsFunctionRows(recipe.options))) return nullptr;
  return std::make_unique<DecodedPictureCache>(recipe.dataset.facts->shape.samples(),
                                               recipe.options.keep->bytes,
                                               recipe.options.keep->folder);
}

std::unique_ptr<DirectFiles> MakeDirectFiles(const BatchRecipe& recipe) {
  if (!ReadsDirectly(recipe.options)) return nullptr;
  return std::make_unique<DirectFiles>(std::make_shared<BlockMemory>(MemoryBound(recipe).blocks));
}

// The cache for OnDevice::images, or null. Also null if the device does not make the images.
std::unique_ptr<DevicePictureCache> MakeDevicePictureCache(
    const LoaderSetup& setup, const std::shared_ptr<DeviceDriver>& driver) {
  const BatchRecipe& recipe = setup.recipe;
  if (recipe.options.on_device.images == ImagesIn::kStorage || !setup.device_layout.room)
    return nullptr;
  const ImageSummary& field = recipe.dataset.facts->ImagesOf(recipe.layout.picture_field());
  const std::uint64_t samples =
      DevicePictureFiller::CountOf(recipe.dataset, recipe.options.order.samples);
  return std::make_unique<DevicePictureCache>(recipe.options.device, driver,
                                              recipe.dataset.facts->shape.samples(),
                                              DevicePictureCache::BytesFor(field, samples));
}

std::unique_ptr<Uploader> MakeUploader(const LoaderSetup& setup,
                                       const std::shared_ptr<DeviceDriver>& driver) {
  const BatchRecipe& recipe = setup.recipe;
  if (driver == nullptr) return nullptr;
  Uploader::Work work{recipe.layout, setup.device_layout, {}, recipe.options.output.layout};
  for (const ViewProgram& view : recipe.views)
    work.programs.push_back(&view.pixels);
  return std::make_unique<Uploader>(recipe.options.device, driver, work);
}

}  // namespace

LoaderState::LoaderState(const Dataset& dataset, LoaderOptions options, CpuNodes nodes)
    : setup_(dataset, std::move(options), std::move(nodes)),
      compared_(setup_.recipe.dataset.facts->shards.size()),
      shard_choice_(setup_.recipe.choice.OfShards(setup_.recipe.dataset)) {
  const BatchRecipe& recipe = setup_.recipe;
  if (const auto& supply = recipe.dataset.facts->supply) made_before_ = supply->work();
  recipe.dataset.table.ForgetFaults();  // the user may have repaired the shards since
  if (LocksInMemory(recipe.options)) {
    LockInMemory(recipe.dataset, recipe.options.integrity.on_fault != OnFault::kError);
  }
  if (recipe.options.share && setup_.device_layout.paints()) {
    throw Error(ErrorCode::kInvalidArgument,
                "LoaderOptions::share hands over rows that the host has finished; set "
                "LoaderOptions::on_device.steps = false, or leave share empty");
  }
  decoded_pictures_ = MakeDecodedPictureCache(recipe);
  shared_rows_ = SharedRowUse::Open(recipe);
  direct_ = MakeDirectFiles(recipe);
  RequireRoom(recipe, BatchRing::FirstSlots(setup_));
  const std::shared_ptr<DeviceDriver> driver = DeviceAccess::Open(recipe.options.device);
  uploader_ = MakeUploader(setup_, driver);
  if (driver == nullptr && recipe.options.ring.pinned)
    pinned_ = std::make_unique<PinnedSlots>(OpenCuda(-1));
  device_pictures_ = MakeDevicePictureCache(setup_, driver);
  ring_ =
      std::make_unique<BatchRing>(setup_, uploader_ != nullptr ? uploader_.get() : pinned_.get());
  if (shared_rows_ != nullptr) ring_->BeginAt(shared_rows_->batch_begin());
  const PictureCache* kept = decoded_pictures_.get();
  if (device_pictures_ != nullptr) kept = device_pictures_.get();
  source_ = MakeBlockSource({recipe.dataset, shard_choice_, kept, ring_->give_up()}, recipe.options,
                            direct_.get());
  if (device_pictures_ != nullptr) {
    filler_ = std::make_unique<DevicePictureFiller>(recipe.dataset, recipe.layout.picture_field(),
                                                    recipe.options.order.samples, direct_.get(),
                                                    *device_pictures_);
  }
  columns_ = std::make_unique<ColumnBlocks>(recipe);
  try {
    StartThreads();
    Publish();
  } catch (...) {
    Stop();
    throw;
  }
}

void LoaderState::Publish() {
  const BatchRecipe& recipe = setup_.recipe;
  const DiagnosticsOptions& diagnostics = recipe.options.diagnostics;
  if (diagnostics.metrics == nullptr) return;
  const DatasetFacts& facts = *recipe.dataset.facts;
  std::string dataset = facts.parts.empty() ? ShownPath(facts.folder.string()) : "";
  for (const MixedDataset& part : facts.parts) {
    if (!dataset.empty()) dataset += " + ";
    dataset += ShownPath(part.dataset->facts->folder.string());
  }
  published_ = diagnostics.metrics->Add({{"dataset", dataset}, {"loader", diagnostics.name}},
                                        [this] { return Stats(); });
}

// Where a thread knows what fails for lack of memory, it handles the lack itself. The handler here
// is for all other places.
void LoaderState::StartThread(std::function<void()> run) {
  threads_.emplace_back([this, run = std::move(run)] {
    try {
      run();
    } catch (const std::bad_alloc&) {
      ring_->FailForMemory();
    }
  });
}

// Makes each thread's objects before the thread starts, so that the constructor reports a lack of
// memory.
void LoaderState::StartThreads() {
  threads_.reserve(3 + threads());
  auto planner = std::make_shared<PlannerThread>(setup_, *source_, *ring_);
  StartThread([planner] { planner->Run(); });
  if (filler_ != nullptr) filler_->Start();
  const DecodingContext context = Context();
  rows_ = std::make_unique<RowOnDemand>(setup_, context);
  if (setup_.decodes_in_consumer) {
    auto here = std::make_shared<ConsumerDecoder>(setup_, context, faults_, *ring_);
    ring_->DecodeInConsumer([here](const BatchRing::Rows& rows) { here->Decode(rows); });
    return;
  }
  if (setup_.uploads_in_threads()) {
    auto filler = std::make_shared<SlotFiller>(setup_.recipe, context, faults_);
    StartThread([this] { ring_->BeginUploadsUntilStopped(); });
    StartThread([this, filler] { ring_->EndUploadsUntilStopped(*filler); });
  }
  ThreadSetups setups(threads());
  for (unsigned t = 0; t < threads(); ++t) {
    auto decoder = std::make_shared<DecoderThread>(t, setup_, context, faults_, *ring_);
    StartThread([this, t, decoder, gate = setups.gate()] {
      setup_.nodes.KeepThreadOn(setup_.nodes.NodeOf(t));
      if (gate->Run([&decoder] { decoder->SetUp(); })) decoder->Run();
    });
  }
  setups.Await();
}

DecodingContext LoaderState::Context() {
  DecodingContext context{.direct = direct_.get(),
                          .compared = &compared_,
                          .decoded_pictures = decoded_pictures_.get(),
                          .shared_rows = shared_rows_.get(),
                          .new_painter = {},
                          .holds_blocks = source_->holds_blocks()};
  if (setup_.device_layout.paints()) {
    context.new_painter = [this] {
      return std::make_unique<SlotPainter>(setup_.recipe, setup_.device_layout,
                                           device_pictures_.get());
    };
  }
  return context;
}

Batch LoaderState::Row(std::uint64_t sample, std::uint64_t epoch) {
  RequireOwnProcess();
  return Batch(rows_->Make(sample, epoch, shared_from_this()));
}

void LoaderState::RequireOwnProcess() const {
  if (InOwnProcess()) return;
  throw Error(ErrorCode::kState,
              "this Loader was made before the process forked, and its threads are in the parent; "
              "make a Loader in the child");
}

void LoaderState::Stop() {
  if (!InOwnProcess() || ring_ == nullptr || !ring_->Stop()) return;
  for (std::thread& thread : threads_)
    thread.join();
  published_.reset();  // after the threads, so that the last figures are published
  if (filler_ != nullptr) filler_->Stop();
}

std::uint64_t LoaderState::BatchesIn(std::uint64_t epoch, EpochPart part) const {
  const std::uint64_t batches = SizeOf(epoch).batches;
  const bool to_end = part.count == UINT64_MAX;
  if (part.first <= batches && (to_end || part.count <= batches - part.first))
    return setup_.deal.PlayedIn(epoch, part.first, to_end ? batches : part.first + part.count);
  throw Error(ErrorCode::kInvalidArgument, setup_.dataset.path().string(),
              "epoch " + std::to_string(epoch) + " has " + std::to_string(batches) +
                  " batches, numbered from 0, and " +
                  (to_end ? "all" : std::to_string(part.count)) + " from batch " +
                  std::to_string(part.first) + " on were asked for; ask for batches that it has");
}

std::uint64_t LoaderState::StartEpoch(std::uint64_t epoch, std::optional<EpochPart> part) {
  RequireOwnProcess();
  const EpochSize size = SizeOf(epoch);
  // Each epoch deals shards again, so an epoch may have no batches although others have some.
  CheckEpoch(setup_.recipe.dataset, setup_.recipe.options, epoch, size);
  if (part) BatchesIn(epoch, *part);
  faults_.Begin(epoch);
  return ring_->BeginRange(epoch, size, part);
}

Batch LoaderState::Next(std::uint64_t range, const OneConsumer::Walk& walk) {
  RequireOwnProcess();
  std::shared_ptr<const Slot> slot = ring_->Next(range, walk, shared_from_this());
  return slot == nullptr ? Batch() : Batch(std::move(slot));
}

LoaderStats LoaderState::Stats() {
  RequireOwnProcess();
  LoaderStats stats = ring_->Stats();
  if (setup_.decodes_in_consumer) stats.threads = 0;
  stats.faults = faults_.count();
  if (uploader_ != nullptr) {
    stats.upload_bytes = uploader_->uploaded_bytes();
    stats.device_pictures = uploader_->decoded_pictures();
  }
  if (device_pictures_ != nullptr) {
    stats.stored_pictures = device_pictures_->pictures();
    stats.stored_bytes = device_pictures_->bytes();
  }
  if (direct_ != nullptr) stats.refused_shards = direct_->refused();
  if (const RemoteShards* const remote = setup_.recipe.dataset.table.remote.get()) {
    const auto add = [&stats](const RemoteShards::Counts& counts) {
      stats.fetched_bytes += counts.fetched_bytes;
      stats.cached_bytes += counts.from_cache_bytes;
      stats.past_cache_bytes += counts.past_cache_bytes;
    };
    add(remote->counts());
    for (const std::shared_ptr<DatasetState>& column : setup_.recipe.dataset.columns)
      add(column->table.remote->counts());
    const ObjectStore::Counts requests = remote->store().counts();
    stats.requests = requests.requests;
    stats.repeated_requests = requests.repeated;
  }
  if (const auto& supply = setup_.recipe.dataset.facts->supply) {
    const SampleSupply::Work work = supply->work();
    stats.file_read_seconds = work.reading - made_before_.reading;
    stats.file_make_seconds = work.making - made_before_.making;
    stats.compiled_samples = work.compiled - made_before_.compiled;
    stats.block_reads = work.reads;
    stats.block_reads -= made_before_.reads;
  }
  if (shared_rows_ != nullptr) stats.taken_rows = shared_rows_->taken();
  if (decoded_pictures_ != nullptr) {
    stats.kept_pictures = decoded_pictures_->kept();
    stats.kept_bytes = decoded_pictures_->kept_bytes();
  }
  return stats;
}

LoaderMemory LoaderState::Memory() const {
  RequireOwnProcess();
  LoaderMemory memory = setup_.Memory();
  const LoaderMemory rows = rows_->Memory();
  memory.slots += rows.slots;
  memory.variable += rows.variable;
  memory.scratch += rows.scratch;
  memory.bookkeeping += rows.bookkeeping;
  if (shared_rows_ != nullptr) memory.shared = shared_rows_->bytes();
  if (uploader_ != nullptr) {
    memory.device =
        uploader_->device_bytes() + SlotsOf(setup_.recipe.options) * uploader_->slot_bytes();
  }
  if (device_pictures_ != nullptr) {
    const BatchRecipe& recipe = setup_.recipe;
    memory.device += device_pictures_->device_bytes();
    memory.images = device_pictures_->page_locked_bytes() +
                    DevicePictureCache::TableBytes(
                        recipe.dataset.facts->ImagesOf(recipe.layout.picture_field()),
                        recipe.dataset.facts->shape.samples());
  }
  return memory;
}

std::size_t LoaderState::memory_bytes() const noexcept {
  return SlotsOf(setup_.recipe.options) * setup_.recipe.layout.bytes;
}

}  // namespace sluice
