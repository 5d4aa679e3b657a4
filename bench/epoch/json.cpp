// The results of `sluice-bench epoch` as JSON: bench/report/SCHEMA.md describes every key. Options
// that are declared (kEpochSettings, kStepSettings, ForEachSetting) become keys by their
// declaration; AddSettings() names the other settings. `sluice-bench gate` compares settings by
// their keys (kSettings in bench/gate/gate.cpp), so a key must have the same name there. Whether a
// cold epoch was measured depends on the whole run, so EpochsRun::Measured() says which epochs
// were. Its pointers lead into run.epochs, so an epoch is found there by its address.
#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/shown_path.h>
#include <sluice/version.h>

#include "bench/epoch/report.h"
#include "bench/epoch/storage_options.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "tools/cli/declared.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

bool Flips(const EpochOptions& options) {
  return std::any_of(
      options.loader.transform.begin(), options.loader.transform.end(),
      [](const Transform& step) { return std::holds_alternative<HorizontalFlip>(step); });
}

Json EpochJson(const EpochFigures& figures) {
  Json json{{"seconds", figures.seconds},
            {"images", figures.images},
            {"batches", figures.batches},
            {"images_per_second", ImagesPerSecond(figures)},
            {"bytes_read", figures.bytes_read},
            {"start_seconds", figures.start_seconds},
            {"wait_share", WaitShare(figures)},
            {"read_ahead_bytes", figures.read_ahead_bytes},
            {"fetched_bytes", figures.fetched_bytes},
            {"decode_major_faults", figures.decode_major_faults},
            {"cpu_seconds", figures.cpu_seconds},
            {"peak_rss_bytes", figures.peak_bytes},
            {"anonymous_bytes", figures.anonymous_bytes},
            {"left_in_cache_bytes", figures.left_in_cache_bytes}};
  if (figures.utilisation) json["utilisation"] = *figures.utilisation;
  if (figures.whole_utilisation) json["whole_utilisation"] = *figures.whole_utilisation;
  if (figures.joules) json["joules"] = *figures.joules;
  if (figures.gpu) {
    json["gpu_busy"] = figures.gpu->busy;
    json["gpu_memory_bytes"] = figures.gpu->memory_bytes;
  }
  return json;
}

// Adds the settings that every result of this command has.
void AddSettings(Json& json, const EpochOptions& options, const std::string& transform) {
  std::vector<std::string> with;
  for (const std::filesystem::path& folder : options.with)
    with.push_back(ShownPath(folder.string()));
  json.update({{"dataset", ShownPath(options.dataset.string())},
               {"with", with},
               {"weights", options.weights},
               {"prefetch", options.loader.ring.prefetch.value_or(0)},
               {"transform", transform},
               {"views", options.view_texts},
               {"sizes", options.sizes_text},
               {"flip", Flips(options)},
               {"device", options.loader.device.name()},
               {"device_steps", options.loader.on_device.steps},
               {"pretend_decode_us", options.pretend.microseconds},
               {"pretend_slow", options.pretend.slow},
               {"version", kLibraryVersion}});
  AddMembers(json, options, kEpochSettings);
  AddMembers(json, options.step, kStepSettings);
  ForEachSetting(options.loader, [&json](const auto& group, auto member) {
    const auto& option = option_list::OptionAt(member);
    json[cli::KeyOf(option.name, option.facts)] = ValueJson(group.*member);
  });
  if (!options.loader.device.is_host()) json["gpus"] = GpuNames();
  AddStorage(json, options.loader);
  AddLink(json, options.link);
}

std::vector<Measurement> EpochMeasurements(const EpochsRun& run) {
  Measurement rates{"images_per_second", "1/s", true, run.Rates()};
  Measurement cpu{"cpu_seconds_per_1000", "s", false, {}};
  Measurement utilisation{"utilisation", "share", true, {}};
  Measurement joules{"joules_per_1000", "J", false, {}};
  Measurement memory{"anonymous_bytes", "B", false, {}};
  Measurement cold{"cold_images_per_second", "1/s", true, {}};
  for (const EpochFigures* const figures : run.Measured()) {
    cpu.values.push_back(Per1000(figures->cpu_seconds, *figures));
    memory.values.push_back(static_cast<double>(figures->anonymous_bytes));
    if (figures->utilisation) utilisation.values.push_back(*figures->utilisation);
    if (figures->joules) joules.values.push_back(Per1000(*figures->joules, *figures));
  }
  const auto measured = run.Measured();
  for (const EpochFigures& figures : run.epochs) {
    const bool other = std::find(measured.begin(), measured.end(), &figures) == measured.end();
    if (figures.cold && other) cold.values.push_back(ImagesPerSecond(figures));
  }
  return {rates, cpu, utilisation, joules, memory, cold};
}

Json DurationsJson(const LoaderStats& stats) {
  const auto one = [](const DurationHistogram& histogram) {
    return Json{{"count", histogram.count},
                {"seconds", histogram.seconds},
                {"p50_seconds", histogram.p50_seconds()},
                {"p95_seconds", histogram.p95_seconds()},
                {"p99_seconds", histogram.p99_seconds()}};
  };
  return {{"batch_wait", one(stats.batch_waits)},
          {"sample_decode", one(stats.sample_decodes)},
          {"block_read", one(stats.block_reads)}};
}

Json StagesJson(const std::vector<Stage>& stages) {
  auto list = Json::array();
  for (const Stage& stage : stages) {
    auto parts = Json::array();
    for (const StagePart& part : stage.parts)
      parts.push_back({{"name", part.name}, {"share", part.share}});
    list.push_back({{"name", stage.name},
                    {"threads", stage.threads},
                    {"images", stage.images},
                    {"seconds", stage.seconds},
                    {"waiting_seconds", stage.waiting_seconds},
                    {"parts", parts}});
  }
  return list;
}

// Percentiles 0 to 100 of the batch waits of all measured epochs.
std::vector<double> WaitQuantiles(const EpochsRun& run) {
  std::vector<double> waits;
  for (const EpochFigures* const figures : run.Measured())
    waits.insert(waits.end(), figures->batch_waits.begin(), figures->batch_waits.end());
  std::vector<double> quantiles;
  for (int percent = 0; percent <= 100; ++percent)
    quantiles.push_back(Quantile(waits, percent / 100.0));
  return quantiles;
}

}  // namespace

Json JsonOf(const EpochReport& report) {
  const EpochsRun& run = report.run;
  std::vector<Measurement> measurements = EpochMeasurements(run);
  if (!report.stop_seconds.empty()) {
    measurements.push_back({"stop_seconds", "s", false, report.stop_seconds});
  }
  Json json = ResultOf("epoch", measurements, report.warnings);
  auto epochs = Json::array();
  auto warm_up = Json::array();
  auto cold = Json::array();
  std::uint64_t peak_bytes = 0;
  const auto measured = run.Measured();
  for (const EpochFigures& figures : run.epochs) {
    const bool counts = std::find(measured.begin(), measured.end(), &figures) != measured.end();
    (figures.warm_up ? warm_up : (counts ? epochs : cold)).push_back(EpochJson(figures));
    peak_bytes = std::max(peak_bytes, figures.peak_bytes);
  }
  const double median = Median(run.Rates());
  json.update(
      {{"epochs", epochs},
       {"warm_up_epochs", warm_up},
       {"cold_epochs", cold},
       {"median_images_per_second", median},
       {"first_batch_seconds", run.first_batch_seconds},
       {"peak_rss_bytes", peak_bytes},
       {"threads", run.threads},
       {"slot_bytes", run.slot_bytes},
       {"memory_bound",
        {{"own_bytes", run.memory.own()},
         {"window_bytes", run.memory.window},
         {"mapped_bytes", run.memory.mapped},
         {"shared_bytes", run.memory.shared}}},
       {"samples", run.samples},
       {"dataset_bytes", run.dataset_bytes},
       {"image", {{"height", run.height}, {"width", run.width}, {"channels", run.channels}}},
       {"batch_wait_percentiles", WaitQuantiles(run)},
       {"durations", DurationsJson(run.stats)},
       {"stages", StagesJson(report.stages)},
       {"other_cpus", run.other_cpus},
       {"choices",
        {{"threads", run.stats.threads},
         {"prefetch", run.stats.prefetch},
         {"device_share", run.stats.device_share},
         {"read_ahead_depth_bytes", run.stats.read_ahead_depth_bytes},
         {"changes", run.stats.changes}}},
       {"verdict", VerdictOf(run)}});
  AddSettings(json, report.options, report.transform);
  if (const std::optional<GpuUse> gpu = GpuUseOf(run)) {
    json["gpu_busy"] = gpu->busy;
    json["gpu_memory_bytes"] = gpu->memory_bytes;
    json["gpu_memory_total_bytes"] = gpu->memory_total_bytes;
  }
  if (run.device) json["device_use"] = JsonOf(*run.device);
  if (report.pipeline) {
    json["pipeline"] = {{"training_seconds", report.pipeline->training_seconds},
                        {"loading_seconds", report.pipeline->loading_seconds},
                        {"epoch_seconds", report.pipeline->epoch_seconds},
                        {"ideal_seconds", report.pipeline->ideal_seconds()}};
  }
  if (report.conversion) {
    json["conversion"] = {{"samples", report.conversion->samples},
                          {"played_images_per_second", report.conversion->played},
                          {"converted_images_per_second", report.conversion->converted}};
  }
  if (run.floor) {
    const double floor = run.floor->images_per_second;
    json["floor"] = {{"work", run.floor->work},
                     {"images_per_second", floor},
                     {"ratio", floor > 0 ? median / floor : 0}};
  }
  return json;
}

Json JsonOf(const ThreadCurve& curve, const EpochOptions& options, const std::string& transform,
            const std::vector<std::string>& warnings) {
  std::vector<Measurement> measurements;
  auto points = Json::array();
  for (const ThreadPoint& point : curve.points) {
    measurements.push_back({"images_per_second.threads=" + std::to_string(point.threads), "1/s",
                            true, point.images_per_second});
    points.push_back({{"threads", point.threads},
                      {"images_per_second", Median(point.images_per_second)},
                      {"cpu_seconds_per_1000", point.cpu_seconds_per_1000}});
  }
  Json json = ResultOf("epoch", measurements, warnings);
  json["curve"] = {{"points", points}, {"cpus", curve.cpus}};
  if (curve.fit.one_thread > 0) {
    json["curve"]["serial_share"] = curve.fit.serial;
    json["curve"]["one_thread_images_per_second"] = curve.fit.one_thread;
    json["curve"]["worst_residual"] = curve.fit.worst_residual;
  }
  AddSettings(json, options, transform);
  return json;
}

Json JsonOf(const AcceleratorSearch& search, const EpochOptions& options,
            const std::string& transform, const std::string& profile,
            const std::vector<std::string>& warnings) {
  Json json = ResultOf(
      "epoch", {{"accelerators_fed", "1", true, {static_cast<double>(search.fed)}}}, warnings);
  auto trials = Json::array();
  for (const AcceleratorTrial& trial : search.trials) {
    trials.push_back({{"accelerators", trial.accelerators},
                      {"utilisation", trial.utilisation},
                      {"images_per_second", trial.images_per_second}});
  }
  json["accelerators"] = {{"profile", profile},
                          {"wanted_utilisation", search.wanted},
                          {"fed", search.fed},
                          {"trials", trials}};
  json["threads"] = options.loader.threads.value_or(AvailableCpus());
  AddSettings(json, options, transform);
  return json;
}

}  // namespace sluice::bench
