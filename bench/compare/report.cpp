#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "bench/compare/measure.h"
#include "bench/report/statistics.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

double MedianOf(const Compared& one, double ContenderRun::*figure) {
  std::vector<double> values;
  for (const ContenderRun& run : one.runs)
    values.push_back(run.*figure);
  return Median(values);
}

std::uint64_t Peak(const Compared& one) {
  std::uint64_t peak = 0;
  for (const ContenderRun& run : one.runs)
    peak = std::max(peak, run.peak_bytes);
  return peak;
}

std::string Optional(const char* format, const std::optional<double>& value) {
  if (!value) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

std::string RowOf(const Compared& one) {
  if (!one.missing.empty()) {
    return Format("%-18s ", one.contender.name.c_str()) +
           cli::Printable(one.missing).substr(0, 80) + "\n";
  }
  const Spread rates = SpreadOf(one.Rates());
  const std::string range = Format("%.0f-%.0f", rates.least, rates.most);
  const double cpu = MedianOf(one, &ContenderRun::cpu_seconds_per_1000);
  return Format(
      "%-18s %8.0f %13s %7s %7.*f %7.0f %7.2f %8s %7.1f %6s\n", one.contender.name.c_str(),
      rates.median, range.c_str(), Optional("%.2fx", one.ratio).c_str(), cpu < 0.01 ? 5 : 3, cpu,
      1e-6 * static_cast<double>(Peak(one)), MedianOf(one, &ContenderRun::first_batch_seconds),
      Optional("%.1f", one.convert_seconds).c_str(), 1e-6 * static_cast<double>(one.disk_bytes),
      Optional("%.1f", one.decibels).c_str());
}

}  // namespace

std::string TextOf(const Comparison& comparison, const CompareOptions& options) {
  std::vector<const Compared*> sorted;
  for (const Compared& one : comparison.loaders)
    sorted.push_back(&one);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Compared* a, const Compared* b) {
    return Median(a->Rates()) > Median(b->Rates());
  });
  std::string text =
      Format("%-18s %8s %13s %7s %7s %7s %7s %8s %7s %6s\n", "loader", "images/s", "least-most",
             "sluice", "CPU s", "peak", "first", "packing", "disk", "PSNR");
  text += Format("%-18s %8s %13s %7s %7s %7s %7s %8s %7s %6s\n", "", "", "", "is", "/1000", "MB",
                 "batch s", "s", "MB", "dB");
  for (const Compared* const one : sorted)
    text += RowOf(*one);
  text += "\n";
  for (const Compared* const one : sorted) {
    if (one->missing.empty() && !one->runs.empty())
      text += cli::Wrapped(one->contender.name + ": " + one->runs.front().about, 100) + "\n";
  }
  const std::string transform =
      Format(comparison.raw ? "the middle %u pixels of each side, as stored"
                            : "random-resized-crop to %u and flip",
             comparison.size);
  text += cli::Wrapped(
              Format("%s, each %s an epoch; %s; batches of %zu; %s; %s in turns, at least %g s "
                     "of whole epochs each after one that is not counted. Packing is from the "
                     "images as files, sluice's from the source; PSNR %s",
                     cli::CountText(comparison.pictures, "picture", "pictures").c_str(),
                     cli::CountText(options.repeat, "time", "times").c_str(), transform.c_str(),
                     options.batch_size,
                     cli::CountText(comparison.threads, "thread or process", "threads or processes")
                         .c_str(),
                     cli::CountText(options.rounds, "round", "rounds").c_str(), options.seconds,
                     comparison.raw ? "of what is shown, against what is stored (99: the same)"
                                    : "of whole frames resized, against the nearer of two "
                                      "references (triangle, area)"),
              100) +
          "\n";
  return text + WarningsText(comparison.warnings);
}

std::vector<Measurement> MeasurementsOf(const Comparison& comparison, const std::string& suffix) {
  std::vector<Measurement> measurements;
  for (const Compared& one : comparison.loaders) {
    if (!one.missing.empty()) continue;
    const std::string name = one.contender.name + suffix;
    measurements.push_back({"images_per_second." + name, "1/s", true, one.Rates()});
    Measurement cpu{"cpu_seconds_per_1000." + name, "s", false, {}};
    for (const ContenderRun& run : one.runs)
      cpu.values.push_back(run.cpu_seconds_per_1000);
    measurements.push_back(std::move(cpu));
  }
  return measurements;
}

nlohmann::ordered_json LoadersJson(const Comparison& comparison) {
  auto loaders = nlohmann::ordered_json::array();
  for (const Compared& one : comparison.loaders) {
    nlohmann::ordered_json loader{{"name", one.contender.name}};
    if (!one.missing.empty()) {
      loader["missing"] = one.missing;
      loaders.push_back(std::move(loader));
      continue;
    }
    loader["settings"] = one.runs.empty() ? "" : one.runs.front().about;
    loader["images_per_second"] = one.Rates();
    if (one.ratio) loader["ratio"] = *one.ratio;
    loader["cpu_seconds_per_1000"] = MedianOf(one, &ContenderRun::cpu_seconds_per_1000);
    loader["peak_bytes"] = Peak(one);
    loader["first_batch_seconds"] = MedianOf(one, &ContenderRun::first_batch_seconds);
    loader["distinct"] = one.runs.empty() ? 0 : one.runs.front().distinct;
    loader["images_per_epoch"] = one.runs.empty() ? 0 : one.runs.front().images;
    if (one.convert_seconds) loader["convert_seconds"] = *one.convert_seconds;
    loader["bytes_on_disk"] = one.disk_bytes;
    if (one.decibels) loader["psnr_db"] = *one.decibels;
    loaders.push_back(std::move(loader));
  }
  return loaders;
}

nlohmann::ordered_json SettingsJson(const Comparison& comparison, const CompareOptions& options) {
  return {{"source", ShownPath(options.source.string())},
          {"samples", comparison.pictures},
          {"threads", comparison.threads},
          {"batch_size", options.batch_size},
          {"transform", Format(comparison.raw ? "center:%u" : "rrc:%u,flip", comparison.size)},
          {"repeat", options.repeat},
          {"rounds", options.rounds},
          {"seconds", options.seconds},
          {"other_cpus", comparison.other_cpus}};
}

}  // namespace sluice::bench
