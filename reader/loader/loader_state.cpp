#include "reader/loader/loader_state.h"

#include <algorithm>

#include "reader/dataset/rank_epoch.h"
#include "reader/dataset/storage_choice.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/memory_bound.h"
#include "reader/loader/resume_check.h"
#include "reader/order/share_text.h"
#include "reader/reading/available_memory.h"
#include "reader/reading/locked_dataset.h"

namespace sluice {

namespace {

// Small samples are taken many at a time, so that the mutex is not what the threads spend their
// time on: about 64 KiB of payload to decode, or 1 MiB to copy; each takes some hundred
// microseconds.
std::size_t RowsAtOnce(const DatasetState& dataset, const SlotLayout& layout) {
  constexpr std::uint64_t kDecodedBytes = 65536;
  constexpr std::uint64_t kCopiedBytes = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMostRows = 64;
  if (layout.image_field == Schema::kNone) return kMostRows;
  const ImageSummary& images = dataset.ImagesOf(layout.image_field);
  const std::uint64_t mean =
      std::max<std::uint64_t>(images.payload_bytes / std::max<std::uint64_t>(images.present, 1), 1);
  const bool raw = dataset.RawImageBytes(layout.image_field) != 0;
  return std::clamp<std::uint64_t>((raw ? kCopiedBytes : kDecodedBytes) / mean, 1, kMostRows);
}

std::vector<const PixelProgram*> ProgramsOf(const std::vector<ViewProgram>& views) {
  std::vector<const PixelProgram*> programs;
  for (const ViewProgram& view : views)
    programs.push_back(&view.pixels);
  return programs;
}

// Before it is taken: what a system promises more of than it has ends programs later on.
void RequireRoom(const DatasetState& dataset, const SlotLayout& layout, std::size_t slots) {
  constexpr std::uint64_t kMB = 1'000'000;
  const std::uint64_t bytes = slots * layout.bytes + UsualVariableBytes(dataset, layout, slots);
  const std::uint64_t available = AvailableMemory();
  if (bytes <= available) return;
  throw Error(ErrorCode::kLimit,
              "the loader's " + std::to_string(slots) + " batches (1 + prefetch + hold) take " +
                  std::to_string(bytes / kMB) + " MB, and there are " +
                  std::to_string(available / kMB) +
                  " MB of memory left; lower LoaderOptions::batch_size, ring.prefetch or "
                  "ring.hold, or leave large fields out of LoaderOptions::output.fields");
}

// The same of what an epoch's order takes, which is more than some MB only for lists and where
// blocks are of several sizes.
void RequireRoom(const DatasetState& dataset, const LoaderOptions& options) {
  constexpr std::uint64_t kMB = 1'000'000;
  const std::uint64_t bytes = OrderBound(dataset.shape, options, 0);
  const std::uint64_t available = AvailableMemory();
  if (bytes <= available) return;
  throw Error(ErrorCode::kLimit, dataset.folder.string(),
              "the order of an epoch of its " + std::to_string(dataset.shape.blocks()) +
                  " blocks takes " + std::to_string(bytes / kMB) + " MB, and there are " +
                  std::to_string(available / kMB) +
                  " MB of memory left; set LoaderOptions::order.shuffle = kSequential, play "
                  "without a list of samples, or make blocks of one size with `sluice transcode`");
}

// Masks are not resampled, and 16-bit images are stored raw.
bool KeepsPictures(const SlotLayout& layout) {
  return layout.image_field != Schema::kNone && !layout.image_nearest &&
         layout.image_pixels == PixelType::kUint8;
}

}  // namespace

LoaderState::LoaderState(Dataset dataset, LoaderOptions options)
    : dataset_(WithOwnShards(dataset, options)),
      tuning_(TuningFor(options)),
      rank_variables_(options.ranks.world_size == 0 ? Rank::FromEnvironment().variables : ""),
      options_(CheckedOptions(*dataset_.state(), std::move(options))),
      views_(ViewsOf(options_)),
      choice_(FieldChoice::Of(*dataset_.state(), options_)),
      batch_program_(*dataset_.state(), options_, choice_),
      layout_(
          MakeSlotLayout(*dataset_.state(), options_, choice_, views_, batch_program_.target())),
      follow_(
          FollowPlan::Of(*dataset_.state(), choice_, layout_, views_[0], batch_program_.mixes())),
      deal_(dataset_.state()->shape, DealOptionsOf(options_)),
      rows_at_once_(RowsAtOnce(*dataset_.state(), layout_)),
      compared_(dataset_.state()->shards.size()),
      start_(StartOf(*dataset_.state(), options_)) {
  batch_program_.Bind(layout_);
  const std::uint64_t first_epoch = options_.resume_from ? options_.resume_from->epoch : 0;
  range_size_ = deal_.SizeOf(first_epoch);
  CheckEpoch(*dataset_.state(), options_, first_epoch, range_size_);
  if (options_.resume_from) {
    const ResumePoint& point = *options_.resume_from;
    CheckResume(point, start_, GlobalBatch(), deal_.PositionsOf(point.epoch));
    resume_due_ = true;
    done_epoch_ = options_.resume_from->epoch;
    done_batch_ = options_.resume_from->position / GlobalBatch();
  }
  dataset_.state()->ForgetFaults();  // they may have been put right since
  if (LocksInMemory(options_)) {
    LockInMemory(*dataset_.state(), options_.integrity.on_fault != OnFault::kError);
  }
  if (options_.keep && KeepsPictures(layout_)) {
    decoded_ = std::make_unique<DecodedStore>(dataset_.size(), options_.keep->bytes,
                                              options_.keep->folder);
  }
  if (options_.stage) {
    stage_ = std::make_unique<ShardStage>(*dataset_.state(), options_.stage->folder,
                                          options_.stage->bytes);
  }
  if (ReadsDirectly(options_)) {
    direct_ = std::make_unique<DirectFiles>(
        std::make_shared<BlockMemory>(MemoryBound(*dataset_.state(), options_, layout_).blocks));
  }
  const std::size_t count = 1 + tuning_.now().prefetch + options_.ring.hold;
  RequireRoom(*dataset_.state(), layout_, count);
  if (options_.order.shuffle == Shuffle::kQuasiRandom || !options_.order.samples.all()) {
    RequireRoom(*dataset_.state(), options_);
  }
  driver_ = DeviceAccess::Open(options_.device);
  if (driver_ != nullptr) {
    uploader_ = std::make_unique<Uploader>(options_.device, driver_, layout_, ProgramsOf(views_),
                                           options_.output.layout);
  } else if (options_.ring.pinned) {
    driver_ = OpenCuda(-1);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::unique_ptr<Slot> slot = NewSlot();
    free_.push_back(slot.get());
    slots_.push_back(std::move(slot));
  }
  try {
    StartThreads();
  } catch (...) {
    Stop();
    throw;
  }
}

// A shard table of this loader's own if it stages shards or reads them directly.
Dataset LoaderState::WithOwnShards(const Dataset& dataset, const LoaderOptions& options) {
  const bool direct = ReadsDirectly(options);
  if (!options.stage && !direct) return dataset;
  Dataset own;
  own.state_ = std::make_shared<DatasetState>(*dataset.state(),
                                              direct ? MapAdvice::kPageByPage : MapAdvice::kNormal);
  return own;
}

std::unique_ptr<Slot> LoaderState::NewSlot() {
  auto slot = std::make_unique<Slot>();
  Prepare(*slot, layout_, driver_);
  if (uploader_ != nullptr) slot->device = uploader_->NewSlot();
  return slot;
}

LoaderState::~LoaderState() {
  Stop();
  if (uploader_ == nullptr) return;
  uploader_->Finish();
  for (const std::unique_ptr<Slot>& slot : slots_)
    if (slot->device != nullptr) slot->device->Finish();
}

void LoaderState::Stop() {
  std::vector<std::thread> threads;
  std::shared_ptr<const Slot> repeated;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) payload_bytes_at_stop_ = stats_.payload_bytes;
    stopping_ = true;
    give_up_.store(true, std::memory_order_relaxed);
    for (Slot* const slot : planned_)
      slot->abandoned.store(true, std::memory_order_relaxed);
    threads.swap(threads_);
    repeated.swap(repeated_);
  }
  repeated.reset();  // takes the mutex
  plan_.notify_all();
  work_.notify_all();
  rest_.notify_all();
  ready_.notify_all();
  if (threads.empty()) return;
  for (std::thread& thread : threads)
    thread.join();
  std::unique_ptr<ShardStage> stage;
  const std::lock_guard lock(mutex_);
  stage.swap(stage_);
}

std::uint64_t LoaderState::StartEpoch(std::uint64_t epoch) {
  const EpochSize size = deal_.SizeOf(epoch);
  CheckEpoch(*dataset_.state(), options_, epoch, size);  // shards are dealt anew in each
  const std::lock_guard lock(mutex_);
  NoteBatches(epoch, size.batches);
  std::uint64_t batch = 0;
  if (resume_due_ && epoch == options_.resume_from->epoch) {
    resume_due_ = false;
    batch = options_.resume_from->position / GlobalBatch();
  }
  range_epoch_ = epoch;
  range_size_ = size;
  // What was left may be less than a batch, and short ones dropped.
  const bool over = batch > 0 && batch >= BatchesOf(epoch);
  const std::uint64_t next_epoch = over ? epoch + 1 : epoch;
  if (over) batch = 0;
  const bool flows_on = playing_ && next_epoch_ == next_epoch && next_batch_ == batch;
  if (!playing_) {
    playing_ = true;
    played_since_ = Clock::now();
    for (WaitClock* const clock : {&planner_waits_, &worker_waits_, &consumer_waits_})
      clock->Start(played_since_);
  }
  if (!flows_on) {
    Abandon();
    plan_epoch_ = next_epoch_ = next_epoch;
    plan_batch_ = next_batch_ = batch;
  }
  done_epoch_ = next_epoch;
  done_batch_ = batch;
  plan_.notify_one();
  ready_.notify_all();  // who waits for a batch of an earlier range
  walk_.reset();
  return ++range_;
}

std::uint64_t LoaderState::BatchesOf(std::uint64_t epoch) {
  // Only whole shards are dealt anew each epoch; everything else is the same in all of them.
  const auto found = std::find_if(sized_.begin(), sized_.end(), [&](const SizedEpoch& sized) {
    return !options_.ranks.by_shards || sized.epoch == epoch;
  });
  if (found != sized_.end()) return found->batches;
  NoteBatches(epoch, deal_.SizeOf(epoch).batches);
  return sized_.back().batches;
}

void LoaderState::NoteBatches(std::uint64_t epoch, std::uint64_t batches) {
  // The consumer's epoch, and those that a long ring reaches into.
  constexpr std::size_t kMostSized = 8;
  sized_.push_back({epoch, batches});
  if (sized_.size() > kMostSized) sized_.pop_front();
}

void LoaderState::Abandon() {
  ++generation_;
  give_up_.store(true, std::memory_order_relaxed);
  for (Slot* const slot : planned_) {
    slot->abandoned.store(true, std::memory_order_relaxed);
    if (std::exchange(slot->to_upload, 0) > 0) --slot->in_hand;  // nobody will take it there
    if (slot->in_hand == 0) free_.push_back(slot);
  }
  planned_.clear();
  handing_out_ = 0;
}

void LoaderState::RequireOneConsumer(const std::shared_ptr<const char>& walk) const {
  const std::shared_ptr<const char> other = walk_.lock();
  const bool walks = other != nullptr && other != walk && walker_ != std::this_thread::get_id();
  if (stepping_ != range_ && !walks) return;
  throw Error(ErrorCode::kState,
              "another thread is playing this range (EpochRange), and only one thread at a time "
              "may; give each thread its own Loader, or let one thread step and pass its batches "
              "to the others: any thread may hold a Batch");
}

Batch LoaderState::Next(std::uint64_t range, const std::shared_ptr<const char>& walk) {
  std::unique_lock lock(mutex_);
  if (range != range_) return Batch();
  RequireOneConsumer(walk);
  walk_.reset();
  if (next_epoch_ != range_epoch_) return Batch();
  stepping_ = range;
  walk_ = walk;
  walker_ = std::this_thread::get_id();
  const auto step_done = [&] {
    if (!lock.owns_lock()) lock.lock();
    if (stepping_ == range) stepping_ = 0;
  };
  try {
    Batch batch = NextOfRange(lock);
    step_done();
    return batch;
  } catch (...) {
    step_done();
    throw;
  }
}

Batch LoaderState::NextOfRange(std::unique_lock<std::mutex>& lock) {
  if (repeated_ != nullptr && !stopping_) return Repeat();
  const std::uint64_t range = range_;
  WaitForFront(lock);
  if (range != range_) return Batch();  // another epoch was asked for meanwhile
  if (stopping_) {
    throw Error(ErrorCode::kState, "the Loader this epoch belongs to is gone; keep it alive");
  }
  if (!FrontIsDone()) {
    throw Error(ErrorCode::kState, "all " + std::to_string(slots_.size()) +
                                       " slots are held by the consumer; drop a batch before "
                                       "asking for another, or raise LoaderOptions::ring.hold");
  }
  return Deliver();
}

void LoaderState::WaitForFront(std::unique_lock<std::mutex>& lock) {
  // Whoever brought a stream is taken for whoever captures it. (Another thread's capture ends
  // without this one.)
  const std::uint64_t range = range_;
  const auto waits_for_itself = [this] {
    return planned_.empty() && captured_ && captured_->by == std::this_thread::get_id();
  };
  for (;;) {
    Wait(ready_, lock, consumer_waits_, [&] {
      return stopping_ || range != range_ || FrontIsDone() || held_ == slots_.size() ||
             waits_for_itself();
    });
    if (stopping_ || range != range_ || !waits_for_itself()) return;
    const DeviceSlot::Named stream = *captured_;
    captured_.reset();  // the planner says it again, while that lasts
    lock.unlock();
    // By the name that other threads have for it, too, which the planner asks.
    if (driver_->IsCapturing(stream.stream) ||
        driver_->IsCapturing(driver_->ForOtherThreads(stream.stream))) {
      throw Error(ErrorCode::kState,
                  "no free slot: a batch dropped during CUDA graph capture is held until capture "
                  "ends. End the capture first, or raise LoaderOptions::ring.prefetch by the "
                  "number of batches you ask for during it");
    }
    lock.lock();
  }
}

Batch LoaderState::Deliver() {
  // The handle keeps the whole state alive, and with it the memory and the layout. Its memory is
  // taken before anything changes: a slot is never given back while the mutex is held.
  struct Hold {
    std::shared_ptr<LoaderState> state;
    Slot* slot = nullptr;
    Hold() = default;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (slot != nullptr) state->Release(slot);
    }
  };
  const auto hold = std::make_shared<Hold>();
  Slot* const slot = planned_.front();
  planned_.pop_front();
  --handing_out_;  // the front had been handed out whole
  Advance();
  if (slot->error) {
    const Error error = std::move(*slot->error);
    slot->error.reset();
    free_.push_back(slot);
    plan_.notify_one();
    throw error;
  }
  if (EndsEmptyEpoch(*slot)) {
    free_.push_back(slot);
    plan_.notify_one();
    throw Error(ErrorCode::kIo, dataset_.path().string(), "epoch " + std::to_string(slot->epoch),
                "no sample of the epoch could be read, so LoaderOptions::integrity.on_fault = "
                "kSkip left all of them out; see Loader::Faults(), and run `sluice verify`");
  }
  done_epoch_ = next_epoch_;
  done_batch_ = next_batch_;
  ++held_;
  ++stats_.batches;
  stats_.samples += slot->size;
  TuneNowAndThen();
  ready_batches_ +=
      1 + static_cast<std::uint64_t>(std::count_if(
              planned_.begin(), planned_.end(), [](const Slot* s) { return s->done == s->rows; }));
  hold->state = shared_from_this();
  hold->slot = slot;
  std::shared_ptr<const Slot> handle(hold, slot);
  if (options_.diagnostics.repeat_first_batch) repeated_ = handle;
  return Batch(std::move(handle));
}

bool LoaderState::EndsEmptyEpoch(const Slot& slot) {
  if (slot.index == 0) empty_batches_ = 0;
  empty_batches_ = slot.size == 0 ? empty_batches_ + 1 : 0;
  return empty_batches_ > 0 && empty_batches_ == BatchesOf(slot.epoch);
}

Batch LoaderState::Repeat() {
  Advance();
  done_epoch_ = next_epoch_;
  done_batch_ = next_batch_;
  ++stats_.batches;
  stats_.samples += repeated_->size;
  ready_batches_ += tuning_.now().prefetch;
  return Batch(repeated_);
}

void LoaderState::Advance() {
  if (++next_batch_ == BatchesOf(next_epoch_)) {
    ++next_epoch_;
    next_batch_ = 0;
  }
}

void LoaderState::Release(Slot* slot) {
  if (slot->device != nullptr) slot->device->Release();
  {
    const std::lock_guard lock(mutex_);
    --held_;
    free_.push_back(slot);
  }
  plan_.notify_one();
}

ResumePoint LoaderState::State() {
  const std::lock_guard lock(mutex_);
  ResumePoint point = start_;
  point.epoch = done_epoch_;
  point.position = done_batch_ * GlobalBatch();
  return point;
}

LoaderMemory LoaderState::Memory() const {
  LoaderMemory memory = MemoryBound(*dataset_.state(), options_, layout_);
  memory.variable = VariableBound(*dataset_.state(), options_, layout_);
  if (uploader_ != nullptr) {
    memory.device = uploader_->device_bytes() + SlotsOf(options_) * uploader_->slot_bytes();
  }
  return memory;
}

std::string LoaderState::Describe() const {
  const std::uint64_t epoch = options_.resume_from ? options_.resume_from->epoch : 0;
  const EpochSize size = deal_.SizeOf(epoch);
  const std::string share = ShareText(rank(), size.samples, size.positions);
  return DescriptionOf(options_, layout_, views_, follow_) + (share.empty() ? "" : share + "\n");
}

LoaderStats LoaderState::Stats() {
  const std::lock_guard lock(mutex_);
  return StatsNow();
}

LoaderStats LoaderState::StatsNow() {
  LoaderStats stats = stats_;
  stats.faults = faults_.count();
  stats.rank = rank();
  stats.epoch_samples = range_size_.samples;
  stats.epoch_samples_of_all = range_size_.positions;
  stats.prefetch = slots_.size() - 1 - options_.ring.hold;
  stats.threads = tuning_.now().threads;
  stats.read_ahead_depth_bytes = tuning_.now().read_ahead_bytes;
  stats.changes = tuning_.changes();
  if (uploader_ != nullptr) stats.upload_bytes = uploader_->uploaded_bytes();
  if (stage_ != nullptr) stats.staged_shards = stage_->staged();
  if (direct_ != nullptr) stats.refused_shards = direct_->refused();
  if (decoded_ != nullptr) {
    stats.kept_pictures = decoded_->kept();
    stats.kept_bytes = decoded_->kept_bytes();
  }
  if (!playing_) return stats;
  const Clock::time_point now = Clock::now();
  stats.seconds = SecondsBetween(played_since_, now);
  stats.read_wait_seconds = planner_waits_.Seconds(now);
  stats.read_seconds = stats.seconds - stats.read_wait_seconds - stats.upload_wait_seconds;
  stats.decode_wait_seconds = worker_waits_.Seconds(now);
  stats.consumer_wait_seconds = consumer_waits_.Seconds(now);
  stats.consumer_seconds = stats.seconds - stats.consumer_wait_seconds;
  if (stats.batches > 0) {
    stats.ready_batches = static_cast<double>(ready_batches_) / static_cast<double>(stats.batches);
  }
  return stats;
}

void LoaderState::Tune(const LoaderStats& interval) {
  const std::lock_guard lock(mutex_);
  TuneNow(interval);
}

void LoaderState::TuneNowAndThen() {
  // Long enough that single batches do not count, short enough to learn within an epoch.
  constexpr double kInterval = 0.25;  // seconds
  constexpr std::uint64_t kBatches = 8;
  if (tuning_.fixed() || stats_.batches < learned_.batches + kBatches ||
      SecondsBetween(played_since_, Clock::now()) < learned_.seconds + kInterval) {
    return;
  }
  const LoaderStats now = StatsNow();
  TuneNow(now.Since(learned_));
  learned_ = now;
}

void LoaderState::TuneNow(const LoaderStats& interval) {
  if (!tuning_.Learn(interval)) return;
  rest_.notify_all();
  work_.notify_all();  // some may have to rest
  plan_.notify_one();
}

}  // namespace sluice
