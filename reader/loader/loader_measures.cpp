// Threads only add to `counters` and to the clocks of waits. Now() computes the rest when it is
// asked, including waits that still last. The planner's reading time is not measured: it is the
// time since the start, minus the planner's waits for a slot and for the device.
//
// TuneNowAndThen() is called when a batch is delivered. An interval in which the device's share
// changed does not tune the numbers of threads and slots.
#include "reader/loader/loader_measures.h"

#include <utility>

namespace sluice {

void LoaderMeasures::Start(Clock::time_point now) noexcept {
  if (started_) return;
  started_ = true;
  start_ = now;
  for (WaitClock* const clock : {&planner_waits, &worker_waits, &consumer_waits})
    clock->Start(now);
}

void LoaderMeasures::CountBatch(std::size_t samples, std::uint64_t ready,
                                Clock::time_point now) noexcept {
  const double waits = consumer_waits.Seconds(now);
  counters.batch_waits.Add(waits - std::exchange(counted_waits_, waits));
  if (counters.batches == 0) counters.first_wait_seconds = waits;
  ++counters.batches;
  counters.samples += samples;
  ready_batches_ += ready;
}

void LoaderMeasures::CountRows(std::size_t rows, const RowWork& work,
                               std::span<const double> timed) noexcept {
  counters.decode_seconds += work.seconds;
  counters.decode_cpu_seconds += work.cpu_seconds;
  counters.decode_major_faults += work.major_faults;
  counters.payload_bytes += work.payload_bytes;
  counters.picture_pixels += work.picture_pixels;
  counters.shown_pixels += work.shown_pixels;
  counters.left_out_objects += work.left_out_objects;
  for (const double seconds : timed)
    counters.sample_decodes.Add(seconds);
  if (timed.empty()) counters.sample_decodes.Add(work.seconds / static_cast<double>(rows), rows);
}

LoaderStats LoaderMeasures::Now() const {
  LoaderStats stats = counters;
  stats.threads = tuning_.now().threads;
  stats.read_ahead_depth_bytes = tuning_.now().read_ahead_bytes;
  stats.changes = tuning_.changes() + share_.changes();
  stats.device_share = share_.share();
  if (!started_) return stats;
  const Clock::time_point now = Clock::now();
  stats.seconds = SecondsBetween(start_, now);
  stats.read_wait_seconds = planner_waits.Seconds(now);
  stats.read_seconds = stats.seconds - stats.read_wait_seconds - stats.upload_wait_seconds;
  stats.decode_wait_seconds = worker_waits.Seconds(now);
  stats.consumer_wait_seconds = consumer_waits.Seconds(now);
  stats.consumer_seconds = stats.seconds - stats.consumer_wait_seconds;
  if (stats.batches > 0) {
    stats.ready_batches = static_cast<double>(ready_batches_) / static_cast<double>(stats.batches);
  }
  return stats;
}

bool LoaderMeasures::TuneNowAndThen(Clock::time_point now) {
  // An interval is so long that single batches do not matter, and so short that the loader learns
  // within an epoch.
  constexpr double kInterval = 0.25;  // seconds
  constexpr std::uint64_t kBatches = 8;
  if ((tuning_.fixed() && share_.fixed()) || counters.batches < learned_.batches + kBatches ||
      SecondsBetween(start_, now) < learned_.seconds + kInterval) {
    return false;
  }
  const LoaderStats stats = Now();
  const LoaderStats interval = stats.Since(learned_);
  const bool moved = share_.Learn(interval, std::exchange(costs, {}));
  // The numbers of threads and slots are tuned only by intervals in which the device's share stood
  // still.
  const bool changes = !moved && Tune(interval);
  learned_ = stats;
  return changes;
}

}  // namespace sluice
