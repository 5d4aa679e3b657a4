// What the loader's own threads do: the planner's, which plans batches and has them read, and the
// decoding ones'.
#include <algorithm>

#include "reader/decoding/row_worker.h"
#include "reader/loader/batch_planner.h"
#include "reader/loader/loader_state.h"
#include "reader/loader/thread_usage.h"
#include "reader/reading/direct/direct_blocks.h"
#include "reader/reading/mapped_blocks.h"

namespace sluice {

void LoaderState::ResetForPlanning(Slot& slot) {
  slot.blocks.clear();
  slot.handed_out = 0;
  slot.done = 0;
  slot.in_hand = 0;
  slot.to_upload = 0;
  slot.left_out = 0;
  slot.error.reset();
  slot.abandoned.store(false, std::memory_order_relaxed);
}

bool LoaderState::MayPlan(bool some_asked) {
  if (!playing_ || free_.empty() || BatchesOf(plan_epoch_) == 0) return false;
  return !options_.diagnostics.repeat_first_batch ||
         (!some_asked && planned_.empty() && repeated_ == nullptr);
}

bool LoaderState::RingIsShort() const noexcept {
  return ring_may_grow_ && slots_.size() < 1 + tuning_.now().prefetch + options_.ring.hold;
}

void LoaderState::Lengthen(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::unique_ptr<Slot> slot;
  try {
    slot = NewSlot();
  } catch (const std::exception&) {
    slot.reset();  // no more memory: it stays as long as it is
  }
  lock.lock();
  if (slot == nullptr) {
    ring_may_grow_ = false;
    return;
  }
  free_.push_back(slot.get());
  slots_.push_back(std::move(slot));
}

// What they work with is made here, where it can still be an error that there is no memory for it.
void LoaderState::StartThreads() {
  DatasetState& dataset = *dataset_.state();
  if (direct_ == nullptr) {
    source_ = std::make_unique<MappedBlocks>(dataset, choice_, decoded_.get(), give_up_,
                                             BlocksBehind::For(dataset, options_));
  } else {
    source_ =
        std::make_unique<DirectBlocks>(dataset, choice_, decoded_.get(), *direct_,
                                       options_.order.shuffle == Shuffle::kSequential, give_up_);
  }
  auto planner =
      std::make_unique<BatchPlanner>(dataset, options_, views_, *source_, stage_.get(), give_up_);
  threads_.emplace_back([this, planner = std::move(planner)] { RunPlanner(*planner); });
  const ReadingAids aids{decoded_.get(), direct_.get(), stage_.get(), &compared_};
  for (unsigned t = 1; t <= options_.threads; ++t) {
    auto worker = std::make_unique<RowWorker>(dataset, options_, views_, batch_program_, layout_,
                                              follow_, aids, faults_);
    threads_.emplace_back([this, t, worker = std::move(worker)] { RunWorker(t, *worker); });
  }
}

void LoaderState::RunPlanner(BatchPlanner& planner) {
  std::deque<Asked> asked;  // in order; of one generation
  std::unique_lock lock(mutex_);
  for (;;) {
    if (asked.empty()) {
      Wait(plan_, lock, planner_waits_,
           [this] { return stopping_ || MayPlan(false) || RingIsShort(); });
    }
    source_->SetDepth(tuning_.now().read_ahead_bytes);
    if (!stopping_ && RingIsShort()) Lengthen(lock);
    if (stopping_) {
      lock.unlock();
      planner.Cancel();
      lock.lock();
      stats_.read_ahead_bytes = source_->bytes_read();
      return;
    }
    if (!asked.empty() && asked.front().generation != generation_) {
      lock.unlock();
      planner.Cancel();
      lock.lock();
      for (const Asked& batch : asked)
        free_.push_back(batch.slot);
      asked.clear();
      continue;
    }
    if (MayPlan(!asked.empty()) && (asked.empty() || source_->HasRoom())) {
      asked.push_back(PlanNext(planner, lock));
      continue;
    }
    const Asked batch = asked.front();
    lock.unlock();
    bool reclaimed = true;
    try {
      source_->Await(batch.plan);
      reclaimed = Reclaim(*batch.slot);
    } catch (const Error& error) {  // of the device
      batch.slot->error = error;
    } catch (const std::bad_alloc&) {
      batch.slot->error = Error(ErrorCode::kState, "there is not enough memory to read a batch");
    }
    lock.lock();
    captured_.reset();
    stats_.read_ahead_bytes = source_->bytes_read();
    if (batch.generation != generation_ || !reclaimed) continue;  // nobody wants it any more
    asked.pop_front();
    Publish(batch);
  }
}

LoaderState::Asked LoaderState::PlanNext(BatchPlanner& planner,
                                         std::unique_lock<std::mutex>& lock) {
  // The one that the processor's caches know best; or, on a device, that has been left longest.
  const auto next = uploader_ != nullptr ? free_.begin() : std::prev(free_.end());
  Slot& slot = **next;
  free_.erase(next);
  Asked asked{&slot, 0, generation_, {}};
  const std::uint64_t epoch = plan_epoch_;
  const std::uint64_t batch = plan_batch_;
  const bool last = ++plan_batch_ == BatchesOf(epoch);
  if (last) {
    ++plan_epoch_;
    plan_batch_ = 0;
  }
  give_up_.store(false, std::memory_order_relaxed);
  lock.unlock();
  ResetForPlanning(slot);
  if (options_.diagnostics.trace) asked.since = Clock::now();
  std::optional<std::uint64_t> batches_to_come;
  try {
    if (last) batches_to_come = deal_.SizeOf(epoch + 1).batches;
    asked.plan = planner.Plan(epoch, batch, slot);
  } catch (const std::exception&) {  // bad_alloc, or more than a vector may ever hold
    slot.error = Error(ErrorCode::kState, "there is not enough memory to plan a batch");
  }
  lock.lock();
  if (batches_to_come) NoteBatches(epoch + 1, *batches_to_come);
  return asked;
}

void LoaderState::Publish(const Asked& asked) {
  Slot& slot = *asked.slot;
  if (options_.diagnostics.trace) {
    Record(TraceEvent::Kind::kReadAhead, 0, slot, 0, slot.rows, asked.since, Clock::now());
  }
  if (slot.error) {  // nothing to decode: it goes through as it is
    slot.error_row = 0;
    slot.rows = slot.handed_out = slot.done = 0;
    if (handing_out_ == planned_.size()) ++handing_out_;
  }
  planned_.push_back(&slot);
  if (slot.rows > rows_at_once_) {
    work_.notify_all();
  } else {
    work_.notify_one();  // one of them takes it whole
  }
  if (planned_.front() == &slot && slot.done == slot.rows) ready_.notify_one();
}

bool LoaderState::Reclaim(Slot& slot) {
  if (slot.device == nullptr) return true;
  const Clock::time_point begun = Clock::now();
  const auto on_capture = [this](const DeviceSlot::Named& stream) {
    const std::lock_guard lock(mutex_);
    captured_ = stream;
    ready_.notify_one();
  };
  const std::optional<double> copied = slot.device->Reclaim(give_up_, on_capture);
  const std::lock_guard lock(mutex_);
  stats_.upload_wait_seconds += SecondsBetween(begun, Clock::now());
  stats_.upload_seconds += copied.value_or(0);
  return copied.has_value();
}

void LoaderState::RunWorker(unsigned thread, RowWorker& worker) {
  std::uint64_t counted_bytes = 0;
  ThreadUsage usage;
  std::unique_lock lock(mutex_);
  const unsigned index = thread - 1;
  for (;;) {
    rest_.wait(lock, [&] { return stopping_ || index < tuning_.now().threads; });
    Wait(work_, lock, worker_waits_, [&] {
      return stopping_ || handing_out_ < planned_.size() || index >= tuning_.now().threads;
    });
    if (stopping_) return;
    if (index >= tuning_.now().threads) continue;
    Slot& slot = *planned_[handing_out_];
    const std::size_t begin = slot.handed_out;
    const std::size_t end = std::min(begin + rows_at_once_, slot.rows);
    slot.handed_out = end;
    ++slot.in_hand;
    while (handing_out_ < planned_.size() &&
           planned_[handing_out_]->handed_out == planned_[handing_out_]->rows) {
      ++handing_out_;
    }
    lock.unlock();

    const Clock::time_point start = Clock::now();
    RowWorker::Outcome outcome;
    try {
      outcome = worker.Work(slot, begin, end);
    } catch (const std::bad_alloc&) {  // of what the fault of a row needs
      outcome.failed_row = begin;
      outcome.error = Error(ErrorCode::kState, "there is not enough memory to decode a batch");
    }
    const Clock::time_point end_time = Clock::now();
    usage.Sample(end_time);
    if (options_.diagnostics.trace) {
      Record(TraceEvent::Kind::kDecode, thread, slot, begin, end, start, end_time);
    }

    lock.lock();
    stats_.decode_seconds += SecondsBetween(start, end_time);
    usage.MoveTo(stats_);
    stats_.payload_bytes += worker.payload_bytes() - counted_bytes;
    counted_bytes = worker.payload_bytes();
    slot.left_out += outcome.left_out;
    if (outcome.error && (!slot.error || outcome.failed_row < slot.error_row)) {
      slot.error = std::move(outcome.error);
      slot.error_row = outcome.failed_row;
    }
    FinishRows(worker, slot, end - begin, lock);
  }
}

void LoaderState::Record(TraceEvent::Kind kind, unsigned thread, const Slot& slot,
                         std::size_t begin_row, std::size_t end_row, Clock::time_point begin,
                         Clock::time_point end) {
  // What the consumer finds in Batch::image().
  const ImageBatch& image = slot.device != nullptr ? slot.device->images[0] : slot.image;
  options_.diagnostics.trace->Add(
      {kind, thread, slot.epoch, slot.index, static_cast<std::uint32_t>(begin_row),
       static_cast<std::uint32_t>(end_row - begin_row), image.data, begin, end});
}

void LoaderState::FinishRows(RowWorker& worker, Slot& slot, std::size_t rows,
                             std::unique_lock<std::mutex>& lock) {
  const bool last = slot.done + rows == slot.rows;
  if (last && !slot.error && !slot.abandoned.load(std::memory_order_relaxed) &&
      worker.NeedsClosing(slot)) {
    lock.unlock();  // the slot stays in this thread's hand
    std::optional<Error> error = worker.Close(slot);
    lock.lock();
    if (error) slot.error = std::move(error);
  }
  if (last && uploader_ != nullptr && !slot.abandoned.load(std::memory_order_relaxed)) {
    slot.to_upload = rows;
    UploadInOrder(lock);
  } else {
    CountDone(slot, rows);
  }
}

void LoaderState::CountDone(Slot& slot, std::size_t rows) {
  --slot.in_hand;
  slot.done += rows;
  if (slot.abandoned.load(std::memory_order_relaxed)) {
    if (slot.in_hand == 0 && !stopping_) {
      free_.push_back(&slot);
      plan_.notify_one();
    }
    return;
  }
  if (slot.done == slot.rows && planned_.front() == &slot) ready_.notify_one();
}

Slot* LoaderState::NextToUpload() {
  for (Slot* const slot : planned_) {
    if (slot->done == slot->rows) continue;  // it is there
    return slot->to_upload > 0 ? slot : nullptr;
  }
  return nullptr;
}

void LoaderState::UploadInOrder(std::unique_lock<std::mutex>& lock) {
  if (uploading_) return;  // that thread finds it
  uploading_ = true;
  while (Slot* const slot = NextToUpload()) {
    const std::size_t rows = std::exchange(slot->to_upload, 0);
    if (!slot->error && !stopping_) {
      lock.unlock();
      std::optional<Error> error = uploader_->Upload(*slot);
      lock.lock();
      if (error) slot->error = std::move(error);
    }
    CountDone(*slot, rows);
  }
  uploading_ = false;
}

}  // namespace sluice
