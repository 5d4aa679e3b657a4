// The order is known beforehand, so the next use of every block can be, too: NextUses() walks
// through the epoch's positions and notes when each block is first opened.
//
// The thread starts with the first Begin(). It computes the wanted epoch and then the one after,
// and stops a walk that nobody wants any more. If a walk cannot be made, for lack of memory or of
// threads, an empty result takes its place: Find() must not stay null, or Await() would wait for
// ever. Differences of epochs are modulo 2^64, so an earlier epoch counts as far away.
#include "reader/reading/next_uses.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "reader/dataset/rank_epoch.h"

namespace sluice {

std::vector<std::uint64_t> NextUses(const DatasetShape& shape, const LoaderOptions& options,
                                    std::uint64_t epoch, StopFlag give_up) {
  if (options.ranks.by_shards || options.order.shuffle == Shuffle::kRandom || options.order.batches)
    return {};
  std::vector<std::uint64_t> uses(shape.blocks(), UINT64_MAX);
  const std::uint64_t positions =
      options.order.samples.all() ? shape.samples() : options.order.samples.size();
  EpochOrder order(shape, RankEpoch::With(OrderParametersOf(options, epoch), give_up), epoch,
                   RankEpoch::PartOf(options, Deal(shape, DealOptionsOf(options)), epoch, give_up));
  std::vector<std::uint64_t> opened;
  for (std::uint64_t p = 0; p < positions; ++p) {
    if (p % 4096 == 0) ThrowIfGivenUp(give_up);
    opened.clear();
    order.At(p, opened);
    for (const std::uint64_t block : opened)
      uses[block] = std::min(uses[block], epoch * positions + p);
  }
  return uses;
}

NextUsesAhead::~NextUsesAhead() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    give_up_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void NextUsesAhead::Begin(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  wanted_ = epoch;
  // Keeps only the results for `epoch` and the next one. Differences are modulo 2^64, so that of an
  // earlier epoch is large.
  std::erase_if(known_, [&](const auto& one) { return one.epoch - epoch > 1; });
  if (computing_ && *computing_ - epoch > 1) give_up_ = true;
  changed_.NotifyAll();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {  // no more threads: the epoch plays without next uses
    known_.push_back({epoch, unknown_});
  }
}

std::optional<std::uint64_t> NextUsesAhead::Missing() const {
  if (!wanted_) return std::nullopt;
  for (const std::uint64_t epoch : {*wanted_, *wanted_ + 1})
    if (KnownOf(epoch) == nullptr) return epoch;
  return std::nullopt;
}

NextUsesAhead::Uses NextUsesAhead::KnownOf(std::uint64_t epoch) const {
  const auto found = std::ranges::find(known_, epoch, &Known::epoch);
  return found == known_.end() ? nullptr : found->uses;
}

void NextUsesAhead::Run() {
  const MutexLock lock(mutex_);
  while (!stopped_) {
    computing_ = Missing();
    if (!computing_) {
      changed_.Wait(mutex_);
      continue;
    }
    give_up_ = false;
    const std::uint64_t epoch = *computing_;
    Uses uses;
    {
      const MutexUnlock unlocked(mutex_);
      try {
        uses = std::make_shared<const std::vector<std::uint64_t>>(
            NextUses(shape_, options_, epoch, &give_up_));
      } catch (const OrderGivenUp&) {
      } catch (const std::exception&) {  // no memory: the epoch plays without next uses
        uses = unknown_;
      }
    }
    if (uses != nullptr && epoch - *wanted_ <= 1) known_.push_back({epoch, std::move(uses)});
    changed_.NotifyAll();
  }
}

NextUsesAhead::Uses NextUsesAhead::Find() const {
  const MutexLock lock(mutex_);
  return KnownOf(*wanted_);
}

void NextUsesAhead::Await(StopFlag give_up) const {
  constexpr std::chrono::milliseconds kGiveUpPoll{20};
  const MutexLock lock(mutex_);
  while (KnownOf(*wanted_) == nullptr && !give_up->load(std::memory_order_relaxed))
    changed_.WaitFor(mutex_, kGiveUpPoll);
}

}  // namespace sluice
