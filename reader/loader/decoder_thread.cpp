#include "reader/loader/decoder_thread.h"

#include <new>

#include "format/disk/system_error.h"
#include "reader/loader/slot_event.h"

namespace sluice {

void DecoderThread::Run() {
  while (const std::optional<BatchRing::Rows> rows = ring_.TakeRows(number_))
    Decode(*rows);
}

void DecoderThread::Decode(const BatchRing::Rows& rows) {
  LoaderStats spent;
  RowWorker::Outcome outcome = Work(rows, spent);
  if (!ring_.FinishRows(rows, std::move(outcome), spent, worker_)) return;
  std::optional<Error> error;
  try {
    error = worker_.Close(*rows.slot);
  } catch (const std::bad_alloc&) {
    error = OutOfMemory();
  }
  ring_.Closed(rows, std::move(error), worker_);
}

RowWorker::Outcome DecoderThread::Work(const BatchRing::Rows& rows, LoaderStats& spent) {
  const Clock::time_point begin = Clock::now();
  const std::uint64_t bytes_before = worker_.payload_bytes();
  RowWorker::Outcome outcome;
  try {
    outcome = worker_.Work(*rows.slot, rows.begin, rows.end);
  } catch (const std::bad_alloc&) {  // also while a row's fault was noted
    outcome.failed_row = rows.begin;
    outcome.error = OutOfMemory();
  }
  const Clock::time_point end = Clock::now();
  usage_.Sample(end);
  usage_.MoveTo(spent);
  spent.decode_seconds = SecondsBetween(begin, end);
  spent.payload_bytes = worker_.payload_bytes() - bytes_before;
  if (trace_ != nullptr) {
    trace_->Add(SlotEvent(TraceEvent::Kind::kDecode, number_ + 1, *rows.slot, rows.begin, rows.end,
                          begin, end));
  }
  return outcome;
}

}  // namespace sluice
