// DurationHistogram: how often something took how long, counted in fixed ranges.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice {

// How often something took how long. The first bucket ends at 1 us, the next four
// at 1.25, 1.5, 1.75 and 2 us, the next four at 2.5, 3, 3.5 and 4 us, and so on up to 134 s; the
// last bucket counts all longer ones. A bucket includes its end. Histograms of several loaders or
// intervals add up; a quantile is wrong by at most a quarter.
struct DurationHistogram {
  static constexpr std::size_t kPerOctave = 4;  // buckets from a duration to twice that
  static constexpr std::size_t kOctaves = 27;   // from 1 us on
  // All buckets: the first, those of the octaves, and the last.
  static constexpr std::size_t kBuckets = 1 + kOctaves * kPerOctave + 1;

  std::array<std::uint64_t, kBuckets> counts = {};  // of durations in each bucket
  std::uint64_t count = 0;                          // of all durations
  double seconds = 0;                               // their sum

  // The end of a bucket, in seconds; infinite for the last.
  static double EndSeconds(std::size_t bucket) noexcept;
  // The duration, in seconds, that a share `q` (0 to 1) of all durations do not exceed. It is
  // interpolated within its bucket. 0 if nothing was counted; 134 s if it is in the last bucket.
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
    // The duration is counted in quarters of a microsecond, after one nanosecond was taken away, so
    // that a bucket includes its end. The two bits after the leading one choose among the four
    // buckets of an octave.
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
