#include "bench/stages.h"

#include <algorithm>
#include <numeric>

#include <sluice/error.h>

#include "bench/decode_measure.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kImages = 60;
constexpr std::uint64_t kRounds = 3;

std::vector<StagePart> PartsOfDecoding(const EpochOptions& options) {
  try {
    const Dataset dataset = Dataset::Open(options.dataset);
    const std::vector<DecodeItem> items =
        ChooseDecodeItems(dataset, options.loader.transform, kImages, options.loader.seed);
    std::vector<NamedVariant> variants = DecodeStages();
    const std::vector<DecodeFigures> figures = MeasureDecoding(variants, items, kRounds);
    std::vector<double> added = AddedByStage(figures);
    for (double& milliseconds : added)  // a difference of two times may come out below nothing
      milliseconds = std::max(milliseconds, 0.0);
    const double whole = std::accumulate(added.begin(), added.end(), 0.0);
    std::vector<StagePart> parts;
    for (std::size_t i = 0; i < added.size() && whole > 0; ++i)
      parts.push_back({figures[i].name, figures[i].description, added[i] / whole});
    return parts;
  } catch (const Error&) {
    return {};  // no JPEGs, or such as go another way
  } catch (const cli::UsageError&) {
    return {};  // a transform with a border
  }
}

}  // namespace

std::vector<Stage> StagesOf(const EpochOptions& options, const EpochsRun& run) {
  const LoaderStats& stats = run.stats;
  double hand_over = 0;
  for (const EpochFigures* const figures : run.Measured())
    hand_over += figures->hand_over_seconds;
  return {
      {"read", "order, and blocks read ahead", 1, stats.read_seconds, stats.read_wait_seconds, {}},
      {"decode", "payload to pixels, checksum included", run.threads, stats.decode_seconds,
       stats.decode_wait_seconds, PartsOfDecoding(options)},
      {"hand-over",
       "batches given to the consumer",
       1,
       hand_over,
       stats.consumer_wait_seconds,
       {}}};
}

}  // namespace sluice::bench
