// A histogram of durations, in fixed ranges.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Counts durations in buckets (fixed ranges). A bucket includes its end. The buckets end at
//
//   1 us                          the first bucket
//   1.25, 1.5, 1.75 and 2 us
//   2.5, 3, 3.5 and 4 us
//   ...                           and so on, four buckets for each doubling, up to 134 s
//   infinity                      the last bucket, for all longer durations
//
// Histograms of several loaders or intervals can be added. A quantile differs from the true one by
// at most a quarter of it.
struct DurationHistogram {
  static constexpr std::size_t kPerOctave = 4;  // buckets from a duration to its double
  static constexpr std::size_t kOctaves = 27;   // from 1 us on
  // The number of buckets: the first, four for each octave, and the last.
  static constexpr std::size_t kBuckets = 1 + kOctaves * kPerOctave + 1;

  std::array<std::uint64_t, kBuckets> counts = {};  // number of durations in each bucket
  std::uint64_t count = 0;                          // number of all durations
  double seconds = 0;                               // sum of all durations

  // The end of a bucket, in seconds; infinite for the last.
  static double EndSeconds(std::size_t bucket) noexcept;
  // The quantile `q` (0 to 1), in seconds: a share `q` of all durations is at most this long. The
  // result is interpolated within its bucket. 0 if nothing was counted; 134 s if the quantile lies
  // in the last bucket.
  double QuantileSeconds(double q) const noexcept;
  double p50_seconds() const noexcept { return QuantileSeconds(0.5); }   // the median
  double p95_seconds() const noexcept { return QuantileSeconds(0.95); }  // 1 in 20 took longer
  double p99_seconds() const noexcept { return QuantileSeconds(0.99); }  // 1 in 100 took longer

  // Counts a duration that occurred `times` times.
  void Add(double duration_seconds, std::uint64_t times = 1) noexcept {
    counts[BucketOf(duration_seconds)] += times;
    count += times;
    seconds += duration_seconds * static_cast<double>(times);
  }
  // Adds another histogram's counts.
  DurationHistogram& operator+=(const DurationHistogram& more) noexcept;
  // Subtracts the counts of an earlier state of this histogram.
  DurationHistogram& operator-=(const DurationHistogram& earlier) noexcept;

 private:
  static std::size_t BucketOf(double duration_seconds) noexcept {
    // Counts whole quarters of a microsecond. One nanosecond is subtracted first, so that a bucket
    // includes its end. The leading bit of the count gives the octave, and the two bits after it
    // give one of the octave's four buckets.
    const double nanoseconds = duration_seconds * 1e9 + 0.5;
    if (!(nanoseconds >= 2)) return 0;
    if (nanoseconds >= 1e12) return kBuckets - 1;
    const std::uint64_t quarters = (static_cast<std::uint64_t>(nanoseconds) - 1) / 250;
    if (quarters < kPerOctave) return 0;
    const auto octave = static_cast<std::size_t>(std::bit_width(quarters)) - 3;
    const std::size_t bucket = 1 + octave * kPerOctave + ((quarters >> octave) & 3);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
};

}  // namespace sluice
