// Learn() gives an interval to a trial that is under way; otherwise to Grow() or Shrink(), as the
// bottleneck says; and if these change nothing, it may begin a trial. While a trial measures,
// nothing else changes. The first interval after a change of threads counts for neither number
// (settling_).
//
// Grow() raises the least number of threads, and a trial that paid lowers the most. These bounds
// move towards each other, so changes come to an end. A slow sample holds up later batches and
// looks like slow decoding; IsHeldUp() recognises it, and the ring grows instead.
#include "reader/loader/self_tuning.h"

#include <algorithm>
#include <utility>

#include <sluice/cpu.h>

#include "reader/dataset/options_of.h"

namespace sluice {

namespace {

constexpr std::uint64_t kUsualDepth = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxDepth = std::uint64_t{64} << 20;

// A thread is taken away only if the others would then be busy for at most this share of their
// time.
constexpr double kBusy = 0.7;
// Threads want more CPUs than there are if they had a CPU for less than this share of the time in
// which they worked.
constexpr double kCrowded = 0.95;
// If a sample takes a thread fewer seconds than this, threads spend most of their time on handing
// over: each takes the lock, memory and cache lines from the others.
constexpr double kMostlyHandedOver = 3e-6;
// A trial pays if it plays more than this many times as many batches a second. Chance alone rarely
// gains as much.
constexpr double kPays = 1.02;

bool IsCrowded(const LoaderStats& interval) {
  return interval.decode_major_faults == 0 &&
         interval.decode_cpu_seconds < kCrowded * interval.decode_seconds;
}

bool HandsOver(const LoaderStats& interval) {
  return interval.samples > 0 &&
         interval.decode_seconds < kMostlyHandedOver * double(interval.samples);
}

// If the trainer waits for the threads, and these still wait for more than this share of their
// time, they lack other batches to work on: a slow sample holds up the batches after it.
constexpr double kHeldUp = 0.04;
bool IsHeldUp(const LoaderStats& interval) {
  const double all = interval.decode_seconds + interval.decode_wait_seconds;
  return !HandsOver(interval) && interval.decode_wait_seconds > kHeldUp * all &&
         interval.read_seconds <= interval.read_wait_seconds;
}

// Whether `threads` - 1 threads could do the work of `threads`.
bool CanSpareOne(const LoaderStats& interval, unsigned threads) {
  const double all = interval.decode_seconds + interval.decode_wait_seconds;
  const double busy = all > 0 ? interval.decode_seconds / all : 1;
  return busy * threads <= kBusy * (threads - 1);
}

// Whether fewer threads might play faster: the present ones want more CPUs than there are, wait for
// each other, or do so little for a sample that they are in each other's way. (Threads that are
// idle because the trainer is slow are the business of Shrink().)
bool MayBeTooMany(const LoaderStats& interval, unsigned threads) {
  switch (interval.bound()) {
    case Bound::kTrainer: return !CanSpareOne(interval, threads) && IsCrowded(interval);
    case Bound::kDecoding: return IsCrowded(interval) || HandsOver(interval);
    case Bound::kPrefetch: return true;  // threads wait though the ring is as long as it may be
    case Bound::kStorage: return HandsOver(interval);  // the threads slow the planner down
    case Bound::kTooEarly:
    case Bound::kDevice:
    case Bound::kUpload: break;
  }
  return false;
}

}  // namespace

bool SelfTuning::Learn(const LoaderStats& interval) {
  Bound bound = interval.bound();
  if (bound == Bound::kTooEarly) return false;
  if (bound == Bound::kDecoding && now_.prefetch < most_.prefetch && IsHeldUp(interval))
    bound = Bound::kPrefetch;
  if (trial_ == Trial::kFewer || trial_ == Trial::kAgain) {
    const bool changed = Try(interval);
    changes_ += changed ? 1 : 0;
    return changed;
  }
  if (bound != last_) streak_ = 0;
  last_ = bound;
  ++streak_;
  const bool changed = bound == Bound::kTrainer ? streak_ >= kShrinkAfter && Shrink(interval)
                                                : streak_ >= kGrowAfter && Grow(bound, interval);
  if (changed) {
    before_ = {};
  } else if (!Try(interval)) {
    return false;
  }
  streak_ = 0;
  ++changes_;
  return true;
}

bool SelfTuning::Grow(Bound bound, const LoaderStats& interval) {
  switch (bound) {
    case Bound::kDecoding:
      if (now_.threads >= most_.threads) return false;
      least_.threads = ++now_.threads;
      return true;
    case Bound::kPrefetch:
      if (now_.prefetch >= most_.prefetch) return false;
      // If samples take so little time, a longer ring does not help: no sample is slow.
      if (now_.prefetch >= kLongPrefetch && HandsOver(interval)) return false;
      now_.prefetch = std::min(now_.prefetch + 1 + now_.prefetch / 8, most_.prefetch);
      return true;
    case Bound::kStorage:
      if (now_.read_ahead_bytes >= most_.read_ahead_bytes) return false;
      now_.read_ahead_bytes = std::min(2 * now_.read_ahead_bytes, most_.read_ahead_bytes);
      return true;
    case Bound::kTooEarly:
    case Bound::kUpload:
    case Bound::kDevice:
    case Bound::kTrainer: break;
  }
  return false;
}

bool SelfTuning::Shrink(const LoaderStats& interval) {
  if (now_.threads <= least_.threads || !CanSpareOne(interval, now_.threads)) return false;
  --now_.threads;
  return true;
}

void SelfTuning::Pace::Add(const LoaderStats& interval) {
  ++intervals;
  batches += double(interval.batches);
  seconds += interval.seconds;
}

// The next step of a trial with one thread less. Returns whether the number of threads changed.
bool SelfTuning::Try(const LoaderStats& interval) {
  if (std::exchange(settling_, false)) return false;
  switch (trial_) {
    case Trial::kBefore:
      if (now_.threads <= least_.threads || !MayBeTooMany(interval, now_.threads)) {
        before_ = {};
        return false;
      }
      before_.Add(interval);
      return before_.Enough() && ContinueWith(now_.threads - 1, Trial::kFewer);
    case Trial::kFewer:
      fewer_.Add(interval);
      if (!fewer_.Enough()) return false;
      return ContinueWith(now_.threads + 1,
                          fewer_.Rate() > kPays * before_.Rate() ? Trial::kAgain : Trial::kOver);
    case Trial::kAgain:
      again_.Add(interval);
      if (!again_.Enough()) return false;
      if (fewer_.Rate() <= kPays * again_.Rate()) {
        trial_ = Trial::kOver;
        return false;
      }
      most_.threads = now_.threads - 1;
      before_ = fewer_ = again_ = {};
      return ContinueWith(most_.threads, Trial::kBefore);
    case Trial::kOver: break;
  }
  return false;
}

bool SelfTuning::ContinueWith(unsigned threads, Trial next) {
  now_.threads = threads;
  trial_ = next;
  settling_ = true;
  return true;
}

SelfTuning TuningFor(const LoaderOptions& options) {
  const bool pinned = options.ring.pinned || !options.device.is_host();
  const std::optional<std::uint64_t> ahead = ReadAheadBytesOf(options);
  Tuning start;
  // 0: the caller's thread decodes.
  start.threads = options.threads ? std::max(*options.threads, 1U) : AvailableCpus();
  const bool decodes = options.on_device.decode != DecodeOn::kHost;
  start.prefetch = options.ring.prefetch.value_or(decodes  ? kDecodingPrefetch
                                                  : pinned ? kPinnedPrefetch
                                                           : kUsualPrefetch);
  start.read_ahead_bytes = ahead.value_or(kUsualDepth);
  Tuning least = start;
  Tuning most = start;
  if (!options.threads) least.threads = 1;
  if (!options.ring.prefetch && !pinned) most.prefetch = kLongestPrefetch;
  if (!ahead) most.read_ahead_bytes = kMaxDepth;
  return {least, most, start};
}

}  // namespace sluice
