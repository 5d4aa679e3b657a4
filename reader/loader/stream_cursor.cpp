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

bool StreamCursor::BeginRange(std::uint64_t epoch, const EpochSize& size,
                              std::optional<EpochPart> part) {
  if (begun() && RangeIsOver()) {
    complete_.push_back(range_);
    if (complete_.size() > kMaxComplete) complete_.pop_front();
  }
  NoteBatches(epoch, size.batches);
  BatchNumber begin{epoch, 0};
  range_end_ = UINT64_MAX;
  if (part) {
    begin.batch = part->first;
    range_end_ = part->first + std::min(part->count, size.batches - part->first);
  } else if (resume_due_ && epoch == options_.resume_from->epoch) {
    resume_due_ = false;
    begin.batch = options_.resume_from->position / options_.global_batch;
  }
  range_epoch_ = epoch;
  size_ = size;
  // If the rest of the epoch is less than a batch, and short batches are dropped, no batch of the
  // epoch is left.
  if (begin.batch > 0 && begin.batch >= BatchesOf(epoch)) begin = {epoch + 1, 0};
  begin = NotSkipped(begin);
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
  return NotSkipped(number.batch + 1 == BatchesOf(number.epoch)
                        ? BatchNumber{number.epoch + 1, 0}
                        : BatchNumber{number.epoch, number.batch + 1});
}

// The ranges are in ascending order, so one walk suffices. One up to its epoch's end has the
// largest count: the next epoch comes, from its own first batch.
BatchNumber StreamCursor::NotSkipped(BatchNumber number) const {
  for (const SkippedBatches& range : deal_.skip()) {
    const std::uint64_t end = range.first + range.count;
    if (range.epoch != number.epoch || number.batch < range.first || number.batch >= end) continue;
    number = end == UINT64_MAX ? BatchNumber{number.epoch + 1, 0} : BatchNumber{number.epoch, end};
  }
  return number;
}

// Epochs that are not noted are not dealt here: BatchRing's mutex is locked, and a function of the
// user's may compose the batches.
bool StreamCursor::HasMore() const {
  const std::uint64_t* const batches = NotedBatches(to_plan_.epoch);
  return batches != nullptr && *batches > 0 && (range_end_ == UINT64_MAX || InRange(to_plan_));
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

const std::uint64_t* StreamCursor::NotedBatches(std::uint64_t epoch) const {
  const auto found = std::ranges::find_if(sized_, [&](const SizedEpoch& sized) {
    return !options_.epochs_differ || sized.epoch == epoch;
  });
  return found != sized_.end() ? &found->batches : nullptr;
}

std::uint64_t StreamCursor::BatchesOf(std::uint64_t epoch) {
  if (const std::uint64_t* const noted = NotedBatches(epoch)) return *noted;
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
