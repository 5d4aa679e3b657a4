// The text for people; json.cpp makes the JSON object of the same EpochReport. The table is printed
// row by row while epochs are played, so spaces in its headings reserve the widths of its columns.
// All other text is made after the last epoch. Its figures are medians over the measured epochs,
// but the waits for batches are pooled over all of these epochs. With --cold, the cold epochs are
// the measured ones; with --also-cold, they come after the warm ones and are summed up apart
// (IsExtraCold).
#include "bench/epoch/report.h"

#include <algorithm>
#include <cstdio>

#include <sluice/convert_option_list.h>
#include <sluice/shown_path.h>

#include "bench/epoch/storage_options.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

// a / b, or 0 if `b` is not positive.
double Ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

std::string PercentText(double share) {
  return Format("%.1f%%", 100 * share);
}

// The transform, its sizes by epoch, and the further views.
std::string TransformText(const EpochReport& report) {
  std::string text = report.transform;
  if (!report.options.sizes_text.empty()) text += ", sizes " + report.options.sizes_text;
  for (const std::string& view : report.options.view_texts)
    text += ", view " + view;
  return text;
}

// Whether the epoch is one of --also-cold: a cold one after warm ones.
bool IsExtraCold(const EpochFigures& figures, const EpochOptions& options) {
  return figures.cold && !options.cold;
}

// "median 7480 images/s (7310 to 7550); ..."
std::string MediansText(const EpochReport& report) {
  const Spread rates = SpreadOf(report.run.Rates());
  std::string text = Format(
      "median %s images/s (%s to %s); first batch %s after the process's start\n",
      cli::RateText(rates.median).c_str(), cli::RateText(rates.least).c_str(),
      cli::RateText(rates.most).c_str(), cli::SecondsText(report.run.first_batch_seconds).c_str());
  std::vector<double> starts;
  std::vector<double> start_shares;
  std::vector<double> waits;
  std::vector<double> joules;
  for (const EpochFigures* const figures : report.run.Measured()) {
    starts.push_back(figures->start_seconds);
    start_shares.push_back(StartShare(*figures));
    // Pooled, because a long wait in one epoch would vanish in a median over epochs.
    waits.insert(waits.end(), figures->batch_waits.begin(), figures->batch_waits.end());
    if (figures->joules) joules.push_back(Per1000(*figures->joules, *figures));
  }
  text +=
      Format("an epoch's first batch comes after %s, %s of the epoch (medians)\n",
             cli::SecondsText(Median(starts)).c_str(), PercentText(Median(start_shares)).c_str());
  text += Format(
      "waiting for a batch: median %.3g ms, 90%% within %.3g, 99%% within %.3g, longest "
      "%.3g\n",
      1e3 * Median(waits), 1e3 * Quantile(waits, 0.9), 1e3 * Quantile(waits, 0.99),
      1e3 * Quantile(waits, 1));
  if (!joules.empty())
    text += Format("energy of the CPUs: %.3g J per 1000 images\n", Median(joules));
  std::vector<double> cold;
  for (const EpochFigures& figures : report.run.epochs) {
    if (IsExtraCold(figures, report.options)) cold.push_back(ImagesPerSecond(figures));
  }
  if (!cold.empty()) {
    text += Format(
        "with a cold cache, opening the dataset included: median %s images/s, %.2f times the warm "
        "rate\n",
        cli::RateText(Median(cold)).c_str(), Ratio(Median(cold), rates.median));
  }
  if (report.run.floor) {
    text += Format("a loop of nothing but %s: %s images/s; the loader reaches %.0f%% of that\n",
                   report.run.floor->work.c_str(),
                   cli::RateText(report.run.floor->images_per_second).c_str(),
                   100 * Ratio(rates.median, report.run.floor->images_per_second));
  }
  return text;
}

// For epochs with a cold page cache: how fast blocks were read ahead, and how many pages the
// decoding threads had to wait for.
std::string ColdLine(const EpochsRun& run) {
  std::vector<double> rates;
  std::uint64_t faults = 0;
  for (const EpochFigures* const figures : run.Measured()) {
    rates.push_back(Ratio(static_cast<double>(figures->read_ahead_bytes) / 1e6, figures->seconds));
    faults += figures->decode_major_faults;
  }
  return Format("read ahead at %s MB/s (the median); decoding threads waited for %llu pages\n",
                cli::RateText(Median(rates)).c_str(), static_cast<unsigned long long>(faults));
}

std::string StagesText(const EpochReport& report) {
  TextTable table({"stage", "threads", "ms/1000 images", "at work", "<what it is"});
  for (const Stage& stage : report.stages) {
    const double all = stage.seconds + stage.waiting_seconds;
    table.Add({stage.name, std::to_string(stage.threads),
               Format("%.4g", 1e6 * Ratio(stage.seconds, stage.images)),
               PercentText(Ratio(stage.seconds, all)), stage.description});
    for (const StagePart& part : stage.parts) {
      table.Add({"  " + part.name, "",
                 Format("%.4g", 1e6 * Ratio(stage.seconds * part.share, stage.images)), "",
                 part.description});
    }
  }
  return "\n" + table.Text() + "\n";
}

std::string StepText(const EpochReport& report) {
  const EpochOptions& options = report.options;
  std::vector<double> used;
  std::vector<double> used_in_all;
  for (const EpochFigures* const figures : report.run.Measured()) {
    if (figures->utilisation) used.push_back(*figures->utilisation);
    if (figures->whole_utilisation) used_in_all.push_back(*figures->whole_utilisation);
  }
  std::string text;
  if (!used.empty()) {
    text += Format("accelerator utilisation %s: steps of %g ms%s with %llu x %zu images",
                   PercentText(Median(used)).c_str(), options.step.milliseconds,
                   options.step.busy ? ", busy," : "",
                   static_cast<unsigned long long>(options.batches_per_step),
                   options.loader.batch_size);
    if (report.wanted_utilisation > 0) {
      text += Format("; wanted %s: %s", PercentText(report.wanted_utilisation).c_str(),
                     Median(used) >= report.wanted_utilisation ? "passed" : "not reached");
    }
    text += Format(
        "\n  (measured from the end of the first step, like MLPerf; over the whole epoch: %s)\n",
        PercentText(Median(used_in_all)).c_str());
  }
  if (report.pipeline) {
    const PipelineCost& cost = *report.pipeline;
    text += cli::Wrapped(
                Format("an epoch's training alone %s, its loading alone %s, both together %s: an "
                       "ideal pipeline takes the larger of the first two, this one %.1f%% more",
                       cli::SecondsText(cost.training_seconds).c_str(),
                       cli::SecondsText(cost.loading_seconds).c_str(),
                       cli::SecondsText(cost.epoch_seconds).c_str(),
                       100 * (Ratio(cost.epoch_seconds, cost.ideal_seconds()) - 1)),
                100) +
            "\n";
  }
  return text;
}

}  // namespace

// Each of these makes a figure less certain than its digits suggest.
std::vector<std::string> WarningsOf(const EpochOptions& options, const EpochsRun& run) {
  constexpr double kLongEnough = 0.5;  // seconds
  constexpr std::uint64_t kEnoughBatches = 20;
  constexpr double kSteady = 0.1;
  std::vector<std::string> warnings;
  WarnOfLoad(run.other_cpus, warnings);
  double shortest = 1e9;
  std::uint64_t fewest = UINT64_MAX;
  for (const EpochFigures* const figures : run.Measured()) {
    shortest = std::min(shortest, figures->seconds);
    fewest = std::min(fewest, figures->batches);
  }
  if (shortest < kLongEnough || fewest < kEnoughBatches) {
    warnings.push_back(Format(
        "an epoch of %s and %s is too short for a good figure; --repeat N makes it N times "
        "as long",
        cli::SecondsText(shortest).c_str(), cli::CountText(fewest, "batch", "batches").c_str()));
  }
  const Spread rates = SpreadOf(run.Rates());
  if (options.epochs < 3) {
    warnings.push_back("fewer than 3 measured epochs do not show how much they differ");
  } else if (rates.HalfWidth() > kSteady) {
    warnings.push_back(Format("the epochs differ by up to %.0f%% of their median",
                              100 * (rates.most - rates.least) / rates.median));
  }
  return warnings;
}

EpochTable::EpochTable(const EpochOptions& options)
    : options_(options),
      table_({"epoch  ", "  seconds", "  images/s", "      MB/s", " waited", " CPU s/1000",
              "peak memory"}) {}

void EpochTable::PrintRow(const EpochFigures& figures) {
  ++rows_;
  std::string name = figures.warm_up ? "warm-up" : std::to_string(rows_ - options_.warm_up);
  if (IsExtraCold(figures, options_)) name = "cold";
  table_.Add({name, Format("%.3f", figures.seconds), cli::RateText(ImagesPerSecond(figures)),
              cli::RateText(Ratio(static_cast<double>(figures.bytes_read) / 1e6, figures.seconds)),
              PercentText(WaitShare(figures)),
              Format("%#.3g", Per1000(figures.cpu_seconds, figures)),
              cli::BytesText(figures.peak_bytes)});
  cli::PrintOut(table_.NewLines());
}

namespace {

std::string DatasetsText(const EpochOptions& options) {
  if (options.with.empty()) return {};
  return Format(" of %zu datasets%s", 1 + options.with.size(),
                options.weights.empty() ? "" : ", by weight");
}

std::string ImageText(const EpochOptions& options, const EpochsRun& run) {
  const ImageSizes image_sizes = options.loader.output.image_sizes;
  if (image_sizes == ImageSizes::kEqual)
    return Format("%zux%zux%zu", run.height, run.width, run.channels);
  return image_sizes == ImageSizes::kOwn ? "images of their own sizes" : "padded images";
}

std::string ThreadsText(unsigned threads) {
  return threads == 0 ? "the consumer's thread" : cli::CountText(threads, "thread", "threads");
}

}  // namespace

namespace {

// "a converted dataset would be 5.10 times as fast: ..."
// Ends with the command that makes the faster dataset, so it has the options that name this source.
std::string ConversionText(const EpochReport& report) {
  const ConversionGain& gain = *report.conversion;
  const std::string path = ShownPath(report.options.dataset.string());
  const ConvertSource& source = *report.options.source;
  std::string flags;
  if (source.kind == ConvertSource::Kind::kTable) flags = "--table ";
  if (source.kind == ConvertSource::Kind::kAnnotations) {
    flags = std::string("--") + option_list::WordOf(source.label_files.format) + " " +
            ShownPath(source.label_files.path.string()) + " ";
  }
  return Format(
      "a converted dataset would be %.2f times as fast: from %s, converted with the same pixels, "
      "the loader made %s images/s, and %s from their files: sluice convert %s%s DATASET --quality "
      "keep --no-resize",
      Ratio(gain.converted, gain.played), cli::CountText(gain.samples, "sample", "samples").c_str(),
      cli::RateText(gain.converted).c_str(), cli::RateText(gain.played).c_str(), flags.c_str(),
      path.c_str());
}

}  // namespace

std::string TextOf(const EpochReport& report) {
  const EpochsRun& run = report.run;
  const EpochOptions& options = report.options;
  std::string text = MediansText(report);
  text +=
      cli::Wrapped(Format("%s%s, %s; batches of %zu x %s on %s; transform %s",
                          cli::CountText(run.samples, "sample", "samples").c_str(),
                          DatasetsText(options).c_str(), cli::BytesText(run.dataset_bytes).c_str(),
                          options.loader.batch_size, ImageText(options, run).c_str(),
                          ThreadsText(run.threads).c_str(), TransformText(report).c_str()),
                   100) +
      "\n";
  text += Format(
      "ring of %llu batches ahead, %s; shuffle %s; checksums %s%s\n",
      static_cast<unsigned long long>(run.stats.prefetch), cli::BytesText(run.slot_bytes).c_str(),
      option_list::WordOf(options.loader.order.shuffle),
      option_list::WordOf(options.loader.integrity.verify), options.cold ? "; cold" : "");
  if (run.stats.changes > 0) {
    text += Format(
        "the loader's final settings: %s decoding, %llu batches ahead, %s being read at a time\n",
        cli::CountText(run.stats.threads, "thread", "threads").c_str(),
        static_cast<unsigned long long>(run.stats.prefetch),
        cli::BytesText(run.stats.read_ahead_depth_bytes).c_str());
  }
  text += StorageText(options.loader, run.stats);
  text +=
      Format("the loader's own memory is at most %s, and it maps %s of files\n",
             cli::BytesText(run.memory.own()).c_str(), cli::BytesText(run.memory.mapped).c_str());
  if (options.cold || std::holds_alternative<Direct>(options.loader.storage)) text += ColdLine(run);
  if (!report.stop_seconds.empty()) {
    const Spread stops = SpreadOf(report.stop_seconds);
    text += Format(
        "dropped in the middle of an epoch, a loader stops in %.3g ms (the median of %s), "
        "%.3g at most\n",
        1e3 * stops.median, cli::CountText(report.stop_seconds.size(), "loader", "loaders").c_str(),
        1e3 * stops.most);
  }
  text += StagesText(report);
  if (run.device) text += TextOf(*run.device);
  text += StepText(report);
  text += cli::Wrapped(VerdictOf(run), 100) + "\n";
  if (report.conversion) text += cli::Wrapped(ConversionText(report), 100) + "\n";
  return text + WarningsText(report.warnings);
}

std::string TextOf(const ThreadCurve& curve) {
  TextTable table({"threads", "images/s", "<least to most", "speed-up", "CPU s/1000"});
  const double first = Median(curve.points.front().images_per_second);
  for (const ThreadPoint& point : curve.points) {
    const Spread rates = SpreadOf(point.images_per_second);
    table.Add({std::to_string(point.threads), cli::RateText(rates.median),
               cli::RateText(rates.least) + " to " + cli::RateText(rates.most),
               Format("%.2fx", Ratio(rates.median, first)),
               Format("%#.3g", point.cpu_seconds_per_1000)});
  }
  std::string text = table.Text();
  if (curve.fit.one_thread > 0) {
    text += Format("fitted serial share %.1f%% by Amdahl's law", 100 * curve.fit.serial);
    // A line through two points always fits exactly.
    if (curve.fit.points > 2)
      text += Format(", within %.1f%% of every point", 100 * curve.fit.worst_residual);
    text += "\n";
  } else {
    text +=
        "no serial share: the fit needs at least two thread counts, none of them above the "
        "number of CPUs that this process may use\n";
  }
  if (curve.points.back().threads > curve.cpus) {
    text += Format("this process may use %s: more threads than that are not part of the fit\n",
                   cli::CountText(curve.cpus, "CPU", "CPUs").c_str());
  }
  return text;
}

AcceleratorTable::AcceleratorTable(double wanted)
    : wanted_(wanted), table_({"accelerators", "utilisation", "images/s", "<"}) {}

std::string AcceleratorTable::Row(const AcceleratorTrial& trial) {
  const std::string rate = cli::RateText(trial.images_per_second);
  if (trial.accelerators == 0) {
    table_.Add({"-", "-", rate, "loading alone"});
  } else {
    table_.Add({std::to_string(trial.accelerators), PercentText(trial.utilisation), rate,
                trial.utilisation >= wanted_ ? "passed" : "not reached"});
  }
  return table_.NewLines();
}

std::string TextOf(const AcceleratorSearch& search, const EpochOptions& options,
                   const std::string& profile) {
  std::string text = Format(
      "this machine feeds %llu %s at %s or more: batches of %zu every %g ms each\n",
      static_cast<unsigned long long>(search.fed),
      profile.empty() ? (search.fed == 1 ? "such accelerator" : "such accelerators")
                      : ("of " + profile).c_str(),
      PercentText(search.wanted).c_str(), options.loader.batch_size, options.step.milliseconds);
  if (search.fed == 0) {
    const double loader_alone = search.trials.front().images_per_second;  // without steps
    const double needed =
        static_cast<double>(options.loader.batch_size) * 1000 / options.step.milliseconds;
    text += Format("the loader gives one accelerator %.0f%% of the images that it asks for\n",
                   100 * loader_alone / needed);
  }
  return text;
}

void WarnLeftInCache(const EpochFigures& figures) {
  std::fprintf(
      stderr,
      "sluice-bench: warning: %s of the dataset stayed in the page cache (mapped by another "
      "process, or a file system in memory): this epoch was not cold\n",
      cli::BytesText(figures.left_in_cache_bytes).c_str());
}

}  // namespace sluice::bench
