#include "reader/pipeline/row_worker.h"

namespace sluice {

RowWorker::Outcome RowWorker::Work(Slot& slot, std::size_t begin, std::size_t end) {
  Outcome outcome;
  for (std::size_t row = begin; row < end; ++row) {
    if (slot.abandoned.load(std::memory_order_relaxed)) return outcome;
    if (!decoder_.Decode(slot, row) && !Settle(slot, row, outcome)) return outcome;
  }
  // After the fact, so that a file that was cut in the middle of a page, which reads as zeros, is
  // noticed where no checksum does it.
  decoder_.LookAtFilesAnew();
  for (std::size_t row = begin; row < end; ++row) {
    if (slot.flags[row] == kLeftOut || decoder_.StillThere(slot, row)) continue;
    if (!Settle(slot, row, outcome)) return outcome;
  }
  return outcome;
}

bool RowWorker::Settle(Slot& slot, std::size_t row, Outcome& outcome) {
  const SampleRef& ref = slot.refs[row];
  Error error = decoder_.TakeError();
  faults_.Add({ref.index, dataset_.shards[ref.shard].file, decoder_.KeyOf(ref), error.sentence(),
               slot.epoch, 0});
  switch (options_.on_fault) {
    case OnFault::kSkip:
      slot.flags[row] = kLeftOut;
      ++outcome.left_out;
      return true;
    case OnFault::kSubstitute:
      if (Substitute(slot, row)) return true;
      break;
    case OnFault::kError: break;
  }
  outcome.failed_row = row;
  outcome.error = std::move(error);
  return false;
}

bool RowWorker::Substitute(Slot& slot, std::size_t row) {
  const SampleRef faulty = slot.refs[row];
  for (unsigned attempt = 1; attempt <= Substitutes::kTries; ++attempt) {
    const SampleRef ref = substitutes_.At(slot.epoch, slot.positions[row], attempt);
    if (ref.index == faulty.index) continue;
    slot.refs[row] = ref;
    if (!decoder_.Decode(slot, row)) continue;
    decoder_.LookAtFilesAnew();
    if (!decoder_.StillThere(slot, row)) continue;
    slot.samples[row] = ref.index;
    if (slot.flags[row] == SampleFlag::kOwn) slot.flags[row] = SampleFlag::kSubstitute;
    return true;
  }
  slot.refs[row] = faulty;
  return false;
}

}  // namespace sluice
