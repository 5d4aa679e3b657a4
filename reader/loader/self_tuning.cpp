#include "reader/loader/self_tuning.h"

#include <algorithm>

#include <sluice/cpu.h>

#include "reader/dataset/storage_choice.h"

namespace sluice {

namespace {

constexpr std::size_t kUsualPrefetch = 2;
constexpr std::size_t kMostPrefetch = 8;  // if the loader chooses
// If the loader chooses and batches are page-locked. Fixed: allocating such memory during training
// would make the GPU wait.
constexpr std::size_t kPinnedPrefetch = 4;
constexpr std::uint64_t kUsualDepth = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostDepth = std::uint64_t{64} << 20;

// A thread is taken away only if the others would then be busy for at most this share of their
// time.
constexpr double kBusy = 0.7;

}  // namespace

bool SelfTuning::Learn(const LoaderStats& interval) {
  const Bound bound = interval.bound();
  if (bound == Bound::kTooEarly) return false;
  if (bound != last_) streak_ = 0;
  last_ = bound;
  ++streak_;
  const bool changed = bound == Bound::kTrainer ? streak_ >= kShrinkAfter && Shrink(interval)
                                                : streak_ >= kGrowAfter && Grow(bound);
  if (!changed) return false;
  streak_ = 0;
  ++changes_;
  return true;
}

bool SelfTuning::Grow(Bound bound) {
  switch (bound) {
    case Bound::kDecoding:
      if (now_.threads >= most_.threads) return false;
      least_.threads = ++now_.threads;
      return true;
    case Bound::kPrefetch:
      if (now_.prefetch >= most_.prefetch) return false;
      ++now_.prefetch;
      return true;
    case Bound::kStorage:
      if (now_.read_ahead_bytes >= most_.read_ahead_bytes) return false;
      now_.read_ahead_bytes = std::min(2 * now_.read_ahead_bytes, most_.read_ahead_bytes);
      return true;
    case Bound::kTooEarly:
    case Bound::kUpload:
    case Bound::kTrainer: break;
  }
  return false;
}

bool SelfTuning::Shrink(const LoaderStats& interval) {
  if (now_.threads <= least_.threads) return false;
  const double all = interval.decode_seconds + interval.decode_wait_seconds;
  const double busy = all > 0 ? interval.decode_seconds / all : 1;
  if (busy * now_.threads > kBusy * (now_.threads - 1)) return false;
  --now_.threads;
  return true;
}

SelfTuning TuningFor(const LoaderOptions& options) {
  const bool pinned = options.ring.pinned || !options.device.is_host();
  const std::optional<std::uint64_t> ahead = ReadAheadBytesOf(options);
  Tuning start;
  // 0: the caller's thread decodes.
  start.threads = options.threads ? std::max(*options.threads, 1U) : AvailableCpus();
  start.prefetch = options.ring.prefetch.value_or(pinned ? kPinnedPrefetch : kUsualPrefetch);
  start.read_ahead_bytes = ahead.value_or(kUsualDepth);
  Tuning least = start;
  Tuning most = start;
  if (!options.threads) least.threads = 1;
  if (!options.ring.prefetch && !pinned) most.prefetch = kMostPrefetch;
  if (!ahead) most.read_ahead_bytes = kMostDepth;
  return {least, most, start};
}

}  // namespace sluice
