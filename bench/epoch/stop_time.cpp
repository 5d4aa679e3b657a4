#include "bench/epoch/stop_time.h"

#include <chrono>
#include <optional>

#include "bench/epoch/played_datasets.h"

namespace sluice::bench {

std::vector<double> MeasureStops(const EpochOptions& options, std::uint64_t loaders,
                                 const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kFurthest = 16;  // batches
  const std::vector<Dataset> datasets = OpenPlayed(options);
  std::vector<double> seconds;
  for (std::uint64_t round = 0; round < loaders; ++round) {
    ThrowIfStopped(stop);
    std::optional<Loader> loader(MakeLoader(options, datasets, options.loader));
    const std::uint64_t batches = round % kFurthest;
    for (const Batch& batch : loader->Epoch(round)) {
      if (batch.index() >= batches) break;
    }
    const Clock::time_point begin = Clock::now();
    loader.reset();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return seconds;
}

}  // namespace sluice::bench
