// The output of `sluice-bench compare`: one comparison, or several side by side. The first half
// shows one Comparison. The second half runs and shows a SideBySide, which the command always
// makes, usually of one comparison. A single comparison's settings and loaders are members of the
// result itself, and its measurements have plain names. Several are listed under "comparisons", and
// a suffix with the threads and the source tells their measurements apart. A loader that did not
// run keeps its row, with the reason, but gives no measurement.
#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "bench/compare/measure.h"
#include "bench/compare/recipe.h"
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

void AddRow(const Compared& one, TextTable& table) {
  if (!one.missing.empty()) {
    table.Add({one.contender.name, cli::Printable(one.missing).substr(0, 80)});
    return;
  }
  const Spread rates = SpreadOf(one.Rates());
  const double cpu = MedianOf(one, &ContenderRun::cpu_seconds_per_1000);
  table.Add({one.contender.name, Format("%.0f", rates.median),
             Format("%.0f-%.0f", rates.least, rates.most), Optional("%.2fx", one.ratio),
             Format("%.*f", cpu < 0.01 ? 5 : 3, cpu), Optional("%.2fx", one.cpu_ratio),
             Format("%.0f", 1e-6 * static_cast<double>(Peak(one))),
             Format("%.2f", MedianOf(one, &ContenderRun::first_batch_seconds)),
             Optional("%.1f", one.convert_seconds),
             Format("%.1f", 1e-6 * static_cast<double>(one.disk_bytes)),
             Optional("%.1f", one.decibels)});
}

}  // namespace

std::string TextOf(const Comparison& comparison, const CompareOptions& options) {
  std::vector<const Compared*> sorted;
  for (const Compared& one : comparison.loaders)
    sorted.push_back(&one);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Compared* a, const Compared* b) {
    return Median(a->Rates()) > Median(b->Rates());
  });
  TextTable table({"loader", "images/s", "least-most", "sluice /", "CPU s", "CPU /", "peak",
                   "first", "pack", "disk", "PSNR"});
  table.Add({"", "", "", "loader", "/1000", "sluice", "MB", "batch s", "s", "MB", "dB"});
  for (const Compared* const one : sorted)
    AddRow(*one, table);
  std::string text = table.Text() + "\n";
  for (const Compared* const one : sorted) {
    if (one->missing.empty() && !one->runs.empty())
      text += cli::Wrapped(one->contender.name + ": " + one->runs.front().about, 100) + "\n";
  }
  const std::string transform =
      !options.recipe.empty()
          ? "recipe " + options.recipe + ": " + RecipeOf(options.recipe).Text(comparison.size)
          : Format(comparison.images == ImagesCompared::kRaw
                       ? "the middle %u pixels in width and height, as stored"
                   : comparison.images == ImagesCompared::kWide
                       ? "random crops of %u, as stored"
                       : "random-resized-crop to %u and flip",
                   comparison.size);
  text += cli::Wrapped(
              Format("%s, each played %s per epoch; %s; batches of %zu; %s; %s, with the order "
                     "rotating; at least %g s of whole epochs per turn, after one uncounted "
                     "warm-up epoch. The packing time starts from image files, for sluice from the "
                     "source.%s",
                     cli::CountText(comparison.pictures, "picture", "pictures").c_str(),
                     cli::CountText(options.repeat, "time", "times").c_str(), transform.c_str(),
                     options.batch_size,
                     cli::CountText(comparison.threads, "thread or process", "threads or processes")
                         .c_str(),
                     cli::CountText(options.rounds, "round", "rounds").c_str(), options.seconds,
                     !options.recipe.empty() ? ""
                     : comparison.images != ImagesCompared::kJpegs
                         ? " PSNR is that of the delivered pixels against the stored ones (99: "
                           "identical)"
                         : " PSNR is that of whole resized frames against the more similar of two "
                           "references (triangle filter, area filter)"),
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
    if (one.cpu_ratio) loader["cpu_ratio"] = *one.cpu_ratio;
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
          {"recipe", options.recipe},
          {"transform", !options.recipe.empty()
                            ? RecipeOf(options.recipe).Text(comparison.size)
                            : Format(comparison.images == ImagesCompared::kRaw    ? "center:%u"
                                     : comparison.images == ImagesCompared::kWide ? "crop:%u"
                                                                                  : "rrc:%u,flip",
                                     comparison.size)},
          {"repeat", options.repeat},
          {"rounds", options.rounds},
          {"seconds", options.seconds},
          {"other_cpus", comparison.other_cpus}};
}

namespace {

// "photos, 2 threads or processes"
std::string TitleOf(const SideBySide& all, std::size_t i) {
  return cli::Printable(all.options[i].source.string()) + ", " +
         cli::CountText(all.comparisons[i].threads, "thread or process", "threads or processes");
}

// The suffix that distinguishes a comparison's measurements from those of the others.
std::string SuffixOf(const SideBySide& all, std::size_t i) {
  const std::string suffix = Format(".threads=%u", all.comparisons[i].threads);
  if (all.sources == 1) return suffix;
  return suffix + Format(".source=%zu", 1 + i * all.sources / all.comparisons.size());
}

const Compared* Find(const Comparison& comparison, const std::string& name) {
  for (const Compared& one : comparison.loaders) {
    if (one.contender.name == name && one.missing.empty()) return &one;
  }
  return nullptr;
}

// Every loader that played somewhere, in the order of the comparisons.
std::vector<std::string> NamesIn(const SideBySide& all) {
  std::vector<std::string> names;
  for (const Comparison& comparison : all.comparisons) {
    for (const Compared& one : comparison.loaders) {
      if (one.missing.empty() &&
          std::find(names.begin(), names.end(), one.contender.name) == names.end())
        names.push_back(one.contender.name);
    }
  }
  return names;
}

std::string RatesText(const SideBySide& all) {
  std::vector<std::string> headings = {"images/s"};
  for (std::size_t i = 0; i < all.comparisons.size(); ++i)
    headings.push_back(Format("(%zu)", i + 1));
  TextTable table(std::move(headings));
  for (const std::string& name : NamesIn(all)) {
    std::vector<std::string> cells = {name};
    for (const Comparison& comparison : all.comparisons) {
      const Compared* const one = Find(comparison, name);
      cells.push_back(one == nullptr ? "-" : Format("%.0f", Median(one->Rates())));
    }
    table.Add(std::move(cells));
  }
  std::string text = table.Text();
  for (std::size_t i = 0; i < all.comparisons.size(); ++i)
    text += Format("(%zu) ", i + 1) + TitleOf(all, i) + "\n";
  return text;
}

}  // namespace

SideBySide CompareSeveral(const CompareOptions& options,
                          const std::vector<std::filesystem::path>& sources,
                          const std::vector<unsigned>& threads, const StepHooks& hooks) {
  SideBySide all;
  all.sources = sources.size();
  const std::size_t count = sources.size() * threads.size();
  for (std::size_t i = 0; i < count; ++i) {
    CompareOptions one = options;
    one.source = sources[i / threads.size()];
    one.threads = threads[i % threads.size()];
    // Threads do not change the quality, so it is measured once for each source.
    if (i % threads.size() > 0) one.quality_images = 0;
    if (sources.size() > 1) one.work /= std::to_string(1 + i / threads.size());
    StepHooks mine = hooks;
    if (count > 1 && hooks.on_step) {
      mine.on_step = [&](const std::string& activity, std::uint64_t done, std::uint64_t steps) {
        hooks.on_step(Format("%zu of %zu, ", i + 1, count) + activity, done, steps);
      };
    }
    all.comparisons.push_back(CompareLoaders(one, mine));
    all.options.push_back(std::move(one));
  }
  return all;
}

std::string TextOf(const SideBySide& all) {
  if (all.comparisons.size() == 1) return TextOf(all.comparisons.front(), all.options.front());
  std::string text;
  for (std::size_t i = 0; i < all.comparisons.size(); ++i) {
    text += Format("(%zu) ", i + 1) + TitleOf(all, i) + "\n\n" +
            TextOf(all.comparisons[i], all.options[i]) + "\n";
  }
  return text + RatesText(all);
}

nlohmann::ordered_json JsonOf(const SideBySide& all) {
  const bool alone = all.comparisons.size() == 1;
  std::vector<Measurement> measurements;
  std::vector<std::string> warnings;
  auto comparisons = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < all.comparisons.size(); ++i) {
    const Comparison& one = all.comparisons[i];
    const auto measured = MeasurementsOf(one, alone ? "" : SuffixOf(all, i));
    measurements.insert(measurements.end(), measured.begin(), measured.end());
    for (const std::string& warning : one.warnings)
      warnings.push_back(alone ? warning : TitleOf(all, i) + ": " + warning);
    nlohmann::ordered_json json = SettingsJson(one, all.options[i]);
    json["loaders"] = LoadersJson(one);
    comparisons.push_back(std::move(json));
  }
  nlohmann::ordered_json json = ResultOf("compare", measurements, warnings);
  if (alone) {
    json.update(comparisons.front());
  } else {
    json["comparisons"] = std::move(comparisons);
  }
  return json;
}

}  // namespace sluice::bench
