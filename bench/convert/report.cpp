#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "bench/convert/measure.h"
#include "bench/report/measurement.h"
#include "bench/report/statistics.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

using cli::Format;

struct RunPart {
  const char* name;
  double milliseconds;
};

// The stages, and the rest of the whole: planning, checksums, writing, waiting for locks.
std::vector<RunPart> PartsOf(const ConvertMeasured& measured) {
  const ConvertStages& stages = measured.stages;
  const double all = Median(measured.writers[0].cpu_milliseconds);
  const double known = stages.read + stages.decode + stages.encode;
  return {{"read", stages.read},
          {"decode and resize", stages.decode},
          {"encode", stages.encode},
          {"write and the rest", std::max(0.0, all - known)}};
}

double SumOf(const std::vector<RunPart>& parts) {
  double sum = 0;
  for (const RunPart& part : parts)
    sum += part.milliseconds;
  return sum;
}

}  // namespace

std::string TextOf(const ConvertMeasured& measured) {
  std::string text = cli::CountText(measured.images, "image", "images") + ", " +
                     cli::CountText(measured.threads, "worker", "workers");
  if (measured.left_out > 0) {
    text += "; " + cli::CountText(measured.left_out, "source was", "sources were") + " left out";
  }
  text += Format("\n%-8s %10s  %-16s %14s %10s\n", "", "images/s", "least to most", "CPU ms/image",
                 "bytes");
  for (const WriterTurns& turns : measured.writers) {
    if (!turns.missing.empty()) {
      text += Format("%-8s did not run: %s\n", turns.name.c_str(), turns.missing.c_str());
      continue;
    }
    const Spread rate = SpreadOf(turns.images_per_second);
    text += Format("%-8s %10.0f  %-16s %14.2f %10s\n", turns.name.c_str(), rate.median,
                   Format("%.0f to %.0f", rate.least, rate.most).c_str(),
                   Median(turns.cpu_milliseconds), cli::BytesText(turns.bytes).c_str());
  }
  if (measured.ratio > 0) {
    text += Format("sluice converts %.2f times as many images a second (median of the rounds)\n",
                   measured.ratio);
  }
  const std::vector<RunPart> parts = PartsOf(measured);
  const double sum = SumOf(parts);
  text += Format("\n%-20s %14s %7s   (over %s on one thread)\n", "stage", "CPU ms/image", "share",
                 cli::CountText(measured.stages.images, "image", "images").c_str());
  for (const RunPart& part : parts) {
    text += Format("%-20s %14.3f %6.1f%%\n", part.name, part.milliseconds,
                   sum > 0 ? 100 * part.milliseconds / sum : 0);
  }
  return text + WarningsText(measured.warnings);
}

nlohmann::ordered_json JsonOf(const ConvertMeasured& measured, const ConvertBenchOptions& options) {
  std::vector<Measurement> measurements;
  auto writers = nlohmann::ordered_json::array();
  for (const WriterTurns& turns : measured.writers) {
    if (!turns.missing.empty()) {
      writers.push_back({{"name", turns.name}, {"missing", turns.missing}});
      continue;
    }
    measurements.push_back(
        {"images_per_second." + turns.name, "1/s", true, turns.images_per_second});
    measurements.push_back(
        {"cpu_milliseconds_per_image." + turns.name, "ms", false, turns.cpu_milliseconds});
    writers.push_back({{"name", turns.name},
                       {"settings", turns.about},
                       {"images_per_second", turns.images_per_second},
                       {"cpu_milliseconds_per_image", turns.cpu_milliseconds},
                       {"bytes_on_disk", turns.bytes}});
  }
  auto stages = nlohmann::ordered_json::array();
  const std::vector<RunPart> parts = PartsOf(measured);
  const double sum = SumOf(parts);
  for (const RunPart& part : parts) {
    stages.push_back({{"name", part.name},
                      {"milliseconds", part.milliseconds},
                      {"share", sum > 0 ? part.milliseconds / sum : 0}});
  }
  auto result = ResultOf("convert", measurements, measured.warnings);
  result["writers"] = writers;
  result["ratio"] =
      measured.ratio > 0 ? nlohmann::ordered_json(measured.ratio) : nlohmann::ordered_json();
  result["stages"] = stages;
  result["stage_images"] = measured.stages.images;
  result["source"] = ShownPath(options.source.string());
  result["images"] = measured.images;
  result["left_out"] = measured.left_out;
  result["threads"] = measured.threads;
  result["rounds"] = options.rounds;
  result["max_side"] = options.convert.max_side.value_or(0);
  result["quality"] = options.convert.quality;
  result["other_cpus"] = measured.other_cpus;
  return result;
}

}  // namespace sluice::bench
