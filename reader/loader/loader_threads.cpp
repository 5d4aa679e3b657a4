// Whatever goes wrong with a batch becomes the batch's error, which the consumer gets when the
// batch's turn comes. A lack of memory is such an error, too (OutOfMemory()).
//
// The planner does one task at a time, which the ring chooses. It plans further batches as long as
// there is room to read ahead, and publishes them in the order in which it planned them, each once
// its blocks are there and its slot's memory may be written. If the consumer begins another stream,
// Forget() cancels the reads before it gives the slots back.
#include "reader/loader/loader_threads.h"

#include <new>

#include "format/disk/system_error.h"

namespace sluice {

void DecoderThread::Run() {
  while (const std::optional<BatchRing::Rows> rows = ring_.TakeRows(number_))
    Decode(*rows);
}

void DecoderThread::Decode(const BatchRing::Rows& rows) {
  RowWork work;
  SlotFiller::Outcome outcome = Work(rows, work);
  if (!ring_.FinishRows(rows, std::move(outcome), work, filler_)) return;
  std::optional<Error> error;
  try {
    error = filler_.Close(*rows.slot);
  } catch (const std::bad_alloc&) {
    error = OutOfMemory();
  }
  ring_.Closed(rows, std::move(error), filler_);
}

SlotFiller::Outcome DecoderThread::Work(const BatchRing::Rows& rows, RowWork& work) {
  const Clock::time_point begin = Clock::now();
  const SampleReader::Decoded before = filler_.decoded();
  // See LoaderTrace. Of a short epoch, all runs are timed.
  constexpr std::uint64_t kFirstRuns = 64, kOneOf = 8;
  const bool timed =
      trace_ != nullptr && trace_->times_parts() && (runs_ < kFirstRuns || runs_ % kOneOf == 0);
  ++runs_;
  filler_.TimeParts(timed ? &times_ : nullptr);
  SlotFiller::Outcome outcome;
  try {
    outcome = filler_.Fill(*rows.slot, rows.begin, rows.end);
  } catch (const std::bad_alloc&) {  // also if noting a fault needs too much memory
    outcome.failed_row = rows.begin;
    outcome.error = OutOfMemory();
  }
  const Clock::time_point end = Clock::now();
  usage_.Sample(end);
  usage_.MoveTo(work);
  work.seconds = SecondsBetween(begin, end);
  const SampleReader::Decoded after = filler_.decoded();
  work.payload_bytes = after.bytes - before.bytes;
  work.picture_pixels = after.picture_pixels - before.picture_pixels;
  work.shown_pixels = after.shown_pixels - before.shown_pixels;
  work.left_out_objects = after.left_out_objects - before.left_out_objects;
  // Further rows are timed one by one only if these took longer than kTimedRow each. Reading the
  // clock takes some 25 ns, a thousandth of that.
  constexpr double kTimedRow = 30e-6;  // seconds
  filler_.TimeRows(work.seconds > kTimedRow * double(rows.end - rows.begin));
  if (timed) trace_->AddTimes(times_.Take());
  if (trace_ != nullptr) {
    trace_->Add(SlotEvent(TraceEvent::Kind::kDecode, number_ + 1, rows, begin, end));
  }
  return outcome;
}

PlannerThread::PlannerThread(const LoaderSetup& setup, BlockSource& source, BatchRing& ring)
    : setup_(setup),
      source_(source),
      ring_(ring),
      planner_(setup.recipe, setup.deal, source, ring.give_up()) {}

void PlannerThread::Run() {
  using Task = BatchRing::Turn::Task;
  for (;;) {
    std::optional<std::uint64_t> stream;
    if (!in_hand_.empty()) stream = in_hand_.front().planned.stream;
    const BatchRing::Turn turn = ring_.NextTurn(stream, source_.HasRoom());
    source_.SetDepth(turn.read_ahead_bytes);
    switch (turn.task) {
      case Task::kStop: return Forget();
      case Task::kLengthen: ring_.Lengthen(); break;
      case Task::kForget: Forget(); break;
      case Task::kPlan: Plan(turn); break;
      case Task::kAwait: AwaitFirst(); break;
    }
  }
}

void PlannerThread::Forget() {
  planner_.Cancel();
  ring_.SetReadAhead(source_.bytes_read(), source_.reads());
  for (const InHand& batch : in_hand_)
    ring_.GiveBack(*batch.planned.slot);
  in_hand_.clear();
}

void PlannerThread::Plan(const BatchRing::Turn& turn) {
  const auto [epoch, number] = turn.planned.number;
  Slot& slot = *turn.planned.slot;
  ResetProgress(slot);
  InHand& batch = in_hand_.emplace_back();
  batch.planned = turn.planned;
  if (setup_.recipe.options.diagnostics.trace) batch.since = Clock::now();
  try {
    if (turn.next_epoch != epoch) ring_.NoteBatches(turn.next_epoch, BatchesOf(turn.next_epoch));
    batch.blocks = planner_.Plan(epoch, number, slot);
  } catch (const Error& error) {  // from a function that composes batches, or a store
    slot.error = error;
  } catch (const std::exception&) {  // bad_alloc, or a vector's length_error
    slot.error = OutOfMemory();
  }
}

// 0 if LoaderOptions::order.batches fails for that epoch: the consumer gets the Error when it asks
// for the epoch, and batches before it are not lost.
std::uint64_t PlannerThread::BatchesOf(std::uint64_t epoch) const {
  try {
    return setup_.deal.SizeOf(epoch).batches;
  } catch (const Error&) {
    return 0;
  }
}

void PlannerThread::AwaitFirst() {
  const InHand& batch = in_hand_.front();
  Slot& slot = *batch.planned.slot;
  try {
    source_.Await(batch.blocks);
    if (!ring_.Reclaim(slot)) return;  // nobody wants it any more
  } catch (const Error& error) {       // from the device
    slot.error = error;
  } catch (const std::bad_alloc&) {
    slot.error = OutOfMemory();
  }
  ring_.SetReadAhead(source_.bytes_read(), source_.reads());
  std::optional<TraceEvent> event;
  const std::shared_ptr<LoaderTrace>& trace = setup_.recipe.options.diagnostics.trace;
  if (trace != nullptr) {
    event = SlotEvent(TraceEvent::Kind::kReadAhead, 0, {&slot, 0, slot.rows}, batch.since,
                      Clock::now());
  }
  if (!ring_.Publish(batch.planned)) return;
  if (event) trace->Add(*event);
  in_hand_.pop_front();
}

}  // namespace sluice
