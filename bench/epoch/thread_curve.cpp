#include "bench/epoch/thread_curve.h"

#include <sluice/cpu.h>

namespace sluice::bench {

ThreadCurve MeasureThreadCurve(const EpochOptions& options, const std::vector<unsigned>& threads,
                               const EpochHooks& hooks) {
  ThreadCurve curve;
  curve.cpus = AvailableCpus();
  std::vector<std::vector<double>> cpu(threads.size());
  for (const unsigned count : threads)
    curve.points.push_back({count, {}, 0});
  EpochOptions one = options;
  one.epochs = 1;
  one.also_cold = 0;
  one.floor = false;
  for (std::uint64_t round = 0; round < options.epochs; ++round) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      one.loader.threads = threads[i];
      const EpochFigures played = RunEpochs(one, hooks).epochs.back();
      curve.points[i].images_per_second.push_back(ImagesPerSecond(played));
      cpu[i].push_back(1000 * played.cpu_seconds / static_cast<double>(played.images));
    }
  }
  std::vector<double> counts, rates;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    curve.points[i].cpu_seconds_per_1000 = Median(cpu[i]);
    if (threads[i] > curve.cpus) continue;
    counts.push_back(threads[i]);
    rates.push_back(Median(curve.points[i].images_per_second));
  }
  curve.fit = FitSerialShare(counts, rates);
  return curve;
}

}  // namespace sluice::bench
