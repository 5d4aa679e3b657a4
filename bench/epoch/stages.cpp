#include "bench/epoch/stages.h"

#include <algorithm>
#include <numeric>

#include <sluice/error.h>

#include "bench/parts/decode.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kImages = 60;
constexpr std::uint64_t kRounds = 3;

// `per_image`: milliseconds of the whole stage.
std::vector<StagePart> PartsOfDecoding(const EpochOptions& options, double per_image,
                                       const std::stop_token& stop) {
  try {
    const Dataset dataset = Dataset::Open(options.dataset, options.limits);
    // In a dataset with both forms, the form of its first picture.
    const bool packed = dataset.size() > 0 && dataset[0].Payload().codec == Codec::kPacked;
    std::vector<DecodeItem> items =
        ChooseDecodeItems(dataset, options.loader.transform, kImages, options.loader.seed, packed);
    std::erase_if(items, [&](const DecodeItem& item) { return item.stored_packed != packed; });
    if (items.empty()) return {};
    std::vector<NamedVariant> variants = DecodeStages(packed);
    const std::vector<DecodeFigures> figures = MeasureDecoding(variants, items, kRounds, stop);
    std::vector<double> added = AddedByStage(figures);
    for (double& milliseconds : added)  // the difference of two times may be negative
      milliseconds = std::max(milliseconds, 0.0);
    const double sum = std::accumulate(added.begin(), added.end(), 0.0);
    const double whole = std::max(sum, per_image);  // pictures kept from earlier epochs cost less
    std::vector<StagePart> parts;
    if (sum <= 0) return parts;
    for (std::size_t i = 0; i < added.size(); ++i)
      parts.push_back({figures[i].name, figures[i].description, added[i] / whole});
    parts.push_back(
        {"other", "checksums, fields, pixel steps, waiting for a CPU", 1 - sum / whole});
    return parts;
  } catch (const Error&) {
    return {};  // no JPEGs or packed images, or ones that another decoder handles
  } catch (const cli::UsageError&) {
    return {};  // a transform with a border
  }
}

}  // namespace

std::vector<Stage> StagesOf(const EpochOptions& options, const EpochsRun& run,
                            const std::stop_token& stop) {
  const LoaderStats& stats = run.stats;
  const auto images = static_cast<double>(stats.samples);
  double hand_over = 0;
  double handed_over = 0;
  for (const EpochFigures* const figures : run.Measured()) {
    hand_over += figures->hand_over_seconds;
    handed_over += static_cast<double>(figures->images);
  }
  const double per_image = images > 0 ? 1e3 * stats.decode_seconds / images : 0;
  std::vector<Stage> stages = {
      {"read",
       "order, and blocks read ahead",
       1,
       images,
       stats.read_seconds,
       stats.read_wait_seconds,
       {}},
      {"decode", "payload to pixels, checksum included", run.threads, images, stats.decode_seconds,
       stats.decode_wait_seconds, PartsOfDecoding(options, per_image, stop)},
      {"hand-over",
       "batches given to the consumer",
       1,
       handed_over,
       hand_over,
       stats.consumer_wait_seconds,
       {}}};
  if (!options.loader.device.is_host()) {
    // By the device's own clock; the rest of the time it had nothing to copy.
    stages.push_back({"upload",
                      "copies to the device",
                      1,
                      images,
                      stats.upload_seconds,
                      std::max(0.0, stats.seconds - stats.upload_seconds),
                      {}});
  }
  if (stats.device_pictures > 0) {
    stages.push_back({"decode there",
                      "payload to pixels on the device",
                      1,
                      static_cast<double>(stats.device_pictures),
                      stats.device_decode_seconds,
                      std::max(0.0, stats.seconds - stats.device_decode_seconds),
                      {}});
  }
  return stages;
}

}  // namespace sluice::bench
