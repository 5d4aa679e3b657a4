#include <algorithm>
#include <limits>

#include <sluice/duration_histogram.h>

namespace sluice {

double DurationHistogram::EndSeconds(std::size_t bucket) noexcept {
  if (bucket == 0) return 1e-6;
  if (bucket + 1 >= kBuckets) return std::numeric_limits<double>::infinity();
  const std::size_t octave = (bucket - 1) / kPerOctave;
  const std::size_t quarters = kPerOctave + 1 + (bucket - 1) % kPerOctave;
  return static_cast<double>(quarters << octave) / 4e6;
}

double DurationHistogram::QuantileSeconds(double q) const noexcept {
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(count);
  double before = 0;  // durations in the buckets before this one
  for (std::size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    const auto here = static_cast<double>(counts[bucket]);
    if (here > 0 && before + here >= rank) {
      const double begin = bucket == 0 ? 0 : EndSeconds(bucket - 1);
      return begin + (EndSeconds(bucket) - begin) * (rank - before) / here;
    }
    before += here;
  }
  return count == 0 ? 0 : EndSeconds(kBuckets - 2);
}

DurationHistogram& DurationHistogram::operator+=(const DurationHistogram& more) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    counts[bucket] += more.counts[bucket];
  count += more.count;
  seconds += more.seconds;
  return *this;
}

DurationHistogram& DurationHistogram::operator-=(const DurationHistogram& earlier) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    counts[bucket] -= earlier.counts[bucket];
  count -= earlier.count;
  seconds -= earlier.seconds;
  return *this;
}

}  // namespace sluice
