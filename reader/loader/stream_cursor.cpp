// There are three places in the stream: the next batch to plan (to_plan_), the next to deliver
// (next_), and the first that the consumer does not have yet (done_), where resuming begins. After
// a batch that failed, next_ is ahead of done_.
//
// BeginRange() begins a new stream only if the wanted batch is not the next one to deliver;
// otherwise the batches planned ahead stay useful. The point to resume from is used once, when its
// epoch is first asked for.
#include "reader/loader/stream_cursor.h"

#include <algorithm>
#include <utility>

namespace sluice {

StreamCursor::StreamCursor(const Deal& deal, Options options)
    : deal_(deal),
      options_(std::move(options)),
      resume_due_(options_.resume_from.has_value()),
      size_(deal.SizeOf(resume_due_ ? options_.resume_from->epoch : 0)) {
  if (!resume_due_) return;
  done_ = {options_.resume_from->epoch, options_.resume_from->position / options_.global_batch};
}

bool StreamCursor::BeginRange(std::uint64_t epoch, const EpochSize& size) {
  if (begun() && RangeIsOver()) {
    complete_.push_back(range_);
    if (complete_.size() > kMaxComplete) complete_.pop_front();
  }
  NoteBatches(epoch, size.batches);
  BatchNumber begin{epoch, 0};
  if (resume_due_ && epoch == options_.resume_from->epoch) {
    resume_due_ = false;
    begin.batch = options_.resume_from->position / options_.global_batch;
  }
  range_epoch_ = epoch;
  size_ = size;
  // If the rest of the epoch is less than a batch, and short batches are dropped, no batch of the
  // epoch is left.
  if (begin.batch > 0 && begin.batch >= BatchesOf(epoch)) begin = {epoch + 1, 0};
  const bool flows_on = begun() && next_ == begin;
  if (!flows_on) {
    ++stream_;
    to_plan_ = next_ = begin;
  }
  done_ = begin;
  ++range_;
  return !flows_on;
}

BatchNumber StreamCursor::After(BatchNumber number) {
  return EndsEpoch(number) ? BatchNumber{number.epoch + 1, 0}
                           : BatchNumber{number.epoch, number.batch + 1};
}

BatchNumber StreamCursor::TakeToPlan() {
  const BatchNumber number = to_plan_;
  to_plan_ = After(number);
  return number;
}

void StreamCursor::Advance() {
  next_ = After(next_);
}

ResumePoint StreamCursor::Resume() const {
  ResumePoint point = options_.start;
  point.epoch = done_.epoch;
  point.position = done_.batch * options_.global_batch;
  return point;
}

std::uint64_t StreamCursor::BatchesOf(std::uint64_t epoch) {
  const auto found = std::ranges::find_if(sized_, [&](const SizedEpoch& sized) {
    return !options_.epochs_differ || sized.epoch == epoch;
  });
  if (found != sized_.end()) return found->batches;
  NoteBatches(epoch, deal_.SizeOf(epoch).batches);
  return sized_.back().batches;
}

void StreamCursor::NoteBatches(std::uint64_t epoch, std::uint64_t batches) {
  // Enough for the consumer's epoch and those that a long ring reaches into.
  constexpr std::size_t kMaxSized = 8;
  std::erase_if(sized_, [epoch](const SizedEpoch& sized) { return sized.epoch == epoch; });
  sized_.push_back({epoch, batches});
  if (sized_.size() > kMaxSized) sized_.pop_front();
}

}  // namespace sluice
