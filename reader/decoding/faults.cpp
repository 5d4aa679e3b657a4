// Threads make batches of the next epoch while the consumer still plays this one. So FaultLog
// counts a fault in the epoch of its batch: faults of an epoch that has not begun wait in ahead_.
// The number of entries is limited, but every fault is counted. A shard that cannot be opened has
// one entry for all of its samples.
//
// Substitutes makes an order of its own for the epoch, because an order serves one thread. That
// takes time and memory, so it waits for the first fault. In quasi-random order, the tries lie 1,
// 3, 6, 10 ... times the number of lanes away, which keeps them in the position's own lane.
#include "reader/decoding/faults.h"

#include <algorithm>

namespace sluice {

namespace {

void CountAgain(SampleFault& known, std::uint64_t epoch) {
  ++known.times;
  known.epoch = std::min(known.epoch, epoch);
}

// Counts the fault. A new fault gets an entry if there is room.
template <class Number>
void NoteFault(std::map<Number, SampleFault>& faults, Number number, SampleFault fault,
               std::size_t most) {
  const auto known = faults.find(number);
  if (known != faults.end()) {
    CountAgain(known->second, fault.epoch);
  } else if (faults.size() < most) {
    fault.times = 1;
    faults.emplace(number, std::move(fault));
  }
}

}  // namespace

void FaultLog::Add(SampleFault fault) {
  const MutexLock lock(mutex_);
  Count(fault.epoch);
  const std::uint64_t sample = fault.sample;
  NoteFault(by_sample_, sample, std::move(fault), kMaxEntries - by_shard_.size());
}

void FaultLog::AddShard(std::uint32_t shard, SampleFault fault) {
  const MutexLock lock(mutex_);
  Count(fault.epoch);
  NoteFault(by_shard_, shard, std::move(fault), kMaxEntries - by_sample_.size());
}

bool FaultLog::MetAgain(std::uint32_t shard, std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  const auto known = by_shard_.find(shard);
  if (known == by_shard_.end()) return false;
  Count(epoch);
  CountAgain(known->second, epoch);
  return true;
}

void FaultLog::Count(std::uint64_t epoch) {
  ++(epoch == epoch_ ? count_ : ahead_[epoch]);
}

void FaultLog::Begin(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  epoch_ = epoch;
  const auto met = ahead_.extract(epoch);
  if (!met.empty()) count_ += met.mapped();
}

std::uint64_t FaultLog::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

std::vector<SampleFault> FaultLog::List() const {
  const MutexLock lock(mutex_);
  std::vector<SampleFault> list;
  list.reserve(by_sample_.size() + by_shard_.size());
  for (const auto& [sample, fault] : by_sample_)
    list.push_back(fault);
  for (const auto& [shard, fault] : by_shard_)
    list.push_back(fault);
  std::ranges::stable_sort(list, {}, &SampleFault::sample);
  return list;
}

SampleRef Substitutes::At(std::uint64_t epoch, std::uint64_t draw_position, unsigned attempt) {
  if (!order_ || order_->epoch != epoch) {
    order_.reset();
    order_.emplace(dataset_.facts->shape, options_, deal_, epoch);
  }
  const std::uint64_t position =
      options_.ranks.by_shards ? draw_position / options_.ranks.world_size : draw_position;
  const std::uint64_t stride =
      options_.order.shuffle == Shuffle::kQuasiRandom ? options_.order.lanes : 1;
  const std::uint64_t away = stride * attempt * (attempt + 1) / 2;
  opened_.clear();
  return order_->order.Substitute(position, away, order_->size.domain, opened_);
}

std::optional<SampleRef> Substitutes::ThereAt(std::uint64_t epoch, std::uint64_t draw_position) {
  for (unsigned attempt = 1; attempt <= kTries; ++attempt) {
    const SampleRef ref = At(epoch, draw_position, attempt);
    if (!dataset_.facts->Deleted(ref.index)) return ref;
  }
  return std::nullopt;
}

}  // namespace sluice
