#include <cstdio>

#include <sluice/loader_stats.h>

namespace sluice {

namespace {

// A trainer that waits for less than this share of its time has nothing to gain from the loader.
constexpr double kWaitWorthMentioning = 0.05;
// Decoding threads that wait longer than this are not what holds the others up.
constexpr double kIdleThreads = 0.2;
// Below this share of its time on a processor, a decoding thread that met major faults was reading.
constexpr double kReadingThreads = 0.7;
constexpr std::uint64_t kEnoughBatches = 8;

double Share(double part, double rest) noexcept {
  return part + rest > 0 ? part / (part + rest) : 0;
}

template <class... Arguments>
std::string Sentence(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

}  // namespace

LoaderStats LoaderStats::Since(const LoaderStats& earlier) const {
  LoaderStats since = *this;
  since.seconds -= earlier.seconds;
  since.samples -= earlier.samples;
  since.batches -= earlier.batches;
  since.faults -= earlier.faults;
  since.payload_bytes -= earlier.payload_bytes;
  since.read_ahead_bytes -= earlier.read_ahead_bytes;
  since.changes -= earlier.changes;
  since.read_seconds -= earlier.read_seconds;
  since.read_wait_seconds -= earlier.read_wait_seconds;
  since.decode_seconds -= earlier.decode_seconds;
  since.decode_wait_seconds -= earlier.decode_wait_seconds;
  since.decode_cpu_seconds -= earlier.decode_cpu_seconds;
  since.decode_major_faults -= earlier.decode_major_faults;
  since.consumer_wait_seconds -= earlier.consumer_wait_seconds;
  since.consumer_seconds -= earlier.consumer_seconds;
  const double before = earlier.ready_batches * static_cast<double>(earlier.batches);
  const double after = ready_batches * static_cast<double>(batches);
  since.ready_batches = since.batches == 0 ? 0 : (after - before) / double(since.batches);
  return since;
}

Bound LoaderStats::bound() const noexcept {
  if (batches < kEnoughBatches) return Bound::kTooEarly;
  if (Share(consumer_wait_seconds, consumer_seconds) < kWaitWorthMentioning) return Bound::kTrainer;
  if (Share(decode_wait_seconds, decode_seconds) > kIdleThreads) {
    return read_seconds > read_wait_seconds ? Bound::kStorage : Bound::kPrefetch;
  }
  const bool reading =
      decode_major_faults > 0 && decode_cpu_seconds < kReadingThreads * decode_seconds;
  return reading ? Bound::kStorage : Bound::kDecoding;
}

std::string LoaderStats::Verdict() const {
  const double waited = 100 * Share(consumer_wait_seconds, consumer_seconds);
  const double idle = 100 * Share(decode_wait_seconds, decode_seconds);
  switch (bound()) {
    case Bound::kTooEarly: return "too early to say: fewer than 8 batches";
    case Bound::kTrainer:
      return Sentence(
          "bound by the trainer: it waited %.1f%% of its time, and %.1f of %llu batches lay ready; "
          "the decoding threads had nothing to do %.0f%% of theirs, so that fewer would do",
          waited, ready_batches, static_cast<unsigned long long>(prefetch), idle);
    case Bound::kDecoding: {
      std::string text = Sentence(
          "bound by decoding: the trainer waited %.1f%% of its time, and the decoding threads "
          "%.0f%% of theirs; more threads (and CPUs), packed, smaller or raw stored images help",
          waited, idle);
      if (decode_cpu_seconds < kReadingThreads * decode_seconds) {
        text += Sentence(
            "; they had a processor for %.0f%% of their work: something else uses the CPUs",
            100 * decode_cpu_seconds / decode_seconds);
      }
      return text;
    }
    case Bound::kStorage:
      return Sentence(
          "bound by storage: the trainer waited %.1f%% of its time, the decoding threads %.0f%% of "
          "theirs, while %.1f MB/s were read ahead and %llu pages waited for; a faster disk, a "
          "local copy, more memory for the page cache, or quasi-random order help",
          waited, idle, seconds > 0 ? double(read_ahead_bytes) / seconds / 1e6 : 0.0,
          static_cast<unsigned long long>(decode_major_faults));
    case Bound::kPrefetch: break;
  }
  return Sentence(
      "bound by the length of the ring: the trainer waited %.1f%% of its time, though the decoding "
      "threads had nothing to do %.0f%% of theirs; a larger LoaderOptions::prefetch (now %llu) "
      "helps",
      waited, idle, static_cast<unsigned long long>(prefetch));
}

}  // namespace sluice
