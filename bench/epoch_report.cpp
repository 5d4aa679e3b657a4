#include "bench/epoch_report.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <sluice/version.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

double PerSecond(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

double ImagesPerSecond(const EpochFigures& figures) {
  return PerSecond(static_cast<double>(figures.images), figures.seconds);
}

double WaitShare(const EpochFigures& figures) {
  return std::min(1.0, PerSecond(figures.wait_seconds, figures.seconds));
}

double MedianImagesPerSecond(const EpochsRun& run) {
  std::vector<double> rates;
  for (const EpochFigures& figures : run.epochs) {
    if (!figures.warm_up) rates.push_back(ImagesPerSecond(figures));
  }
  std::sort(rates.begin(), rates.end());
  const std::size_t half = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
}

const char* NameOf(Shuffle shuffle) {
  switch (shuffle) {
    case Shuffle::kQuasiRandom: return "quasi_random";
    case Shuffle::kRandom: return "random";
    case Shuffle::kSequential: return "sequential";
  }
  return "";
}

const char* NameOf(Verify verify) {
  switch (verify) {
    case Verify::kAuto: return "auto";
    case Verify::kAlways: return "always";
    case Verify::kFirstEpoch: return "first_epoch";
    case Verify::kNever: return "never";
  }
  return "";
}

bool Flips(const EpochOptions& options) {
  return std::any_of(
      options.loader.transform.begin(), options.loader.transform.end(),
      [](const Transform& step) { return std::holds_alternative<HorizontalFlip>(step); });
}

nlohmann::ordered_json EpochJson(const EpochFigures& figures) {
  return {{"seconds", figures.seconds},
          {"images", figures.images},
          {"batches", figures.batches},
          {"images_per_second", ImagesPerSecond(figures)},
          {"bytes_read", figures.bytes_read},
          {"wait_share", WaitShare(figures)},
          {"read_ahead_bytes", figures.read_ahead_bytes},
          {"decode_major_faults", figures.decode_major_faults},
          {"cpu_seconds", figures.cpu_seconds},
          {"peak_rss_bytes", figures.peak_bytes},
          {"anonymous_bytes", figures.anonymous_bytes},
          {"left_in_cache_bytes", figures.left_in_cache_bytes}};
}

// How the epochs stood to the disk.
std::string ColdLine(const EpochsRun& run) {
  std::vector<double> rates;
  std::uint64_t faults = 0;
  for (const EpochFigures& figures : run.epochs) {
    rates.push_back(
        PerSecond(static_cast<double>(figures.read_ahead_bytes) / 1e6, figures.seconds));
    faults += figures.decode_major_faults;
  }
  std::sort(rates.begin(), rates.end());
  return Format("read ahead at %s MB/s (the median); decoding threads waited for %llu pages\n",
                cli::RateText(rates[rates.size() / 2]).c_str(),
                static_cast<unsigned long long>(faults));
}

}  // namespace

void EpochTable::PrintRow(const EpochFigures& figures) {
  std::string text;
  if (rows_ == 0) {
    text = "epoch     seconds   images/s       MB/s   waited   CPU s/1000   peak memory\n";
  }
  ++rows_;
  const std::string name = figures.warm_up ? "warm-up" : std::to_string(rows_ - options_.warm_up);
  text += Format(
      "%-7s %9.3f %10s %10s %7.1f%% %#12.3g %13s\n", name.c_str(), figures.seconds,
      cli::RateText(ImagesPerSecond(figures)).c_str(),
      cli::RateText(PerSecond(static_cast<double>(figures.bytes_read) / 1e6, figures.seconds))
          .c_str(),
      100 * WaitShare(figures),
      1000 * PerSecond(figures.cpu_seconds, static_cast<double>(figures.images)),
      cli::BytesText(figures.peak_bytes).c_str());
  cli::PrintOut(text);
}

void EpochTable::PrintEnd(const EpochsRun& run) {
  const double median = MedianImagesPerSecond(run);
  std::string text =
      Format("median %s images/s; first batch %s after the process's start\n",
             cli::RateText(median).c_str(), cli::SecondsText(run.first_batch_seconds).c_str());
  if (run.floor) {
    text += Format("bare %s %s images/s; the loader reaches %.0f%% of that\n",
                   run.floor->work.c_str(), cli::RateText(run.floor->images_per_second).c_str(),
                   100 * PerSecond(median, run.floor->images_per_second));
  }
  text += Format("%llu samples, %s; batches of %zu x %zux%zux%zu on %u %s; transform %s\n",
                 static_cast<unsigned long long>(run.samples),
                 cli::BytesText(run.dataset_bytes).c_str(), options_.loader.batch_size, run.height,
                 run.width, run.channels, run.threads, run.threads == 1 ? "thread" : "threads",
                 transform_.c_str());
  text += Format("ring of %zu batches ahead, %s; shuffle %s; checksums %s%s\n",
                 options_.loader.prefetch, cli::BytesText(run.slot_bytes).c_str(),
                 NameOf(options_.loader.shuffle), NameOf(options_.loader.verify),
                 options_.cold ? "; cold" : "");
  text +=
      Format("memory of its own at most %s, and %s of mapped files\n",
             cli::BytesText(run.memory.own()).c_str(), cli::BytesText(run.memory.mapped).c_str());
  if (options_.cold) text += ColdLine(run);
  text += cli::Wrapped(run.verdict, 100) + "\n";
  cli::PrintOut(text);
}

void PrintEpochsJson(const EpochOptions& options, const std::string& transform,
                     const EpochsRun& run) {
  auto epochs = nlohmann::ordered_json::array();
  auto warm_up = nlohmann::ordered_json::array();
  std::uint64_t peak_bytes = 0;
  for (const EpochFigures& figures : run.epochs) {
    (figures.warm_up ? warm_up : epochs).push_back(EpochJson(figures));
    peak_bytes = std::max(peak_bytes, figures.peak_bytes);
  }
  const double median = MedianImagesPerSecond(run);
  nlohmann::ordered_json json{
      {"epochs", epochs},
      {"warm_up_epochs", warm_up},
      {"median_images_per_second", median},
      {"first_batch_seconds", run.first_batch_seconds},
      {"peak_rss_bytes", peak_bytes},
      {"threads", run.threads},
      {"batch_size", options.loader.batch_size},
      {"prefetch", options.loader.prefetch},
      {"slot_bytes", run.slot_bytes},
      {"memory_bound",
       {{"own_bytes", run.memory.own()},
        {"window_bytes", run.memory.window},
        {"mapped_bytes", run.memory.mapped}}},
      {"dataset", options.dataset.string()},
      {"samples", run.samples},
      {"dataset_bytes", run.dataset_bytes},
      {"transform", transform},
      {"flip", Flips(options)},
      {"image", {{"height", run.height}, {"width", run.width}, {"channels", run.channels}}},
      {"shuffle", NameOf(options.loader.shuffle)},
      {"seed", options.loader.seed},
      {"layout", options.loader.layout == Layout::kNHWC ? "nhwc" : "nchw"},
      {"verify", NameOf(options.loader.verify)},
      {"step_ms", options.step_ms},
      {"cold", options.cold},
      {"verdict", run.verdict},
      {"version", kLibraryVersion}};
  if (run.floor) {
    json["floor"] = {{"work", run.floor->work},
                     {"images_per_second", run.floor->images_per_second},
                     {"ratio", PerSecond(median, run.floor->images_per_second)}};
  }
  cli::PrintJson(json);
}

void WarnLeftInCache(const EpochFigures& figures) {
  std::fprintf(
      stderr,
      "sluice-bench: warning: %s of the dataset stayed in the page cache (mapped by another "
      "process, or a file system in memory): this epoch was not cold\n",
      cli::BytesText(figures.left_in_cache_bytes).c_str());
}

}  // namespace sluice::bench
