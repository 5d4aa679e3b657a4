#include "bench/epoch/experiments.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <sluice/cpu.h>

#include "bench/epoch/run.h"
#include "bench/report/statistics.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

// An epoch that has enough batches for `steps` steps of `accelerators` each.
EpochOptions TrialOptions(const EpochOptions& options, std::uint64_t accelerators,
                          std::uint64_t steps, std::uint64_t samples) {
  EpochOptions trial = options;
  trial.batches_per_step = accelerators;
  trial.most_batches = steps * accelerators;
  trial.loader.ranks.last_batch = LastBatch::kDrop;
  // During a step, the loader decodes the batches of the next one.
  trial.loader.ring.prefetch =
      std::max<std::size_t>(options.loader.ring.prefetch.value_or(0), accelerators + 1);
  const std::uint64_t wanted = trial.most_batches * options.loader.batch_size;
  trial.repeat =
      samples >= wanted ? 1 : (wanted + samples - 1) / std::max<std::uint64_t>(samples, 1);
  trial.epochs = 1;
  trial.warm_up = 0;
  trial.also_cold = 0;
  trial.floor = false;
  return trial;
}

}  // namespace

// MLPerf Storage's ResNet-50 on an emulated H100 (v2.0): batches of 400 images, 0.224 s each, and
// at least 90% of the time computing; and its RetinaNet on a B200: batches of 24, 0.04755 s, 85%.
const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = {{"mlperf-resnet50-h100", 400, 224, 0.9},
                                                {"retinanet-b200", 24, 47.55, 0.85}};
  return profiles;
}

const Profile& ProfileNamed(const std::string& name) {
  std::string names;
  for (const Profile& profile : Profiles()) {
    if (profile.name == name) return profile;
    names += (names.empty() ? "" : ", ") + profile.name;
  }
  throw cli::UsageError("\"" + name + "\" is not one of " + names);
}

AcceleratorSearch SearchAccelerators(
    double wanted, std::uint64_t estimate,
    const std::function<AcceleratorTrial(std::uint64_t accelerators)>& trial) {
  constexpr std::size_t kMaxTrials = 40;
  AcceleratorSearch search;
  search.wanted = wanted;
  std::uint64_t failed = 0;  // the smallest number that failed; 0: none yet
  std::uint64_t stride = 1;  // doubles until both sides are known
  for (std::uint64_t n = std::max<std::uint64_t>(estimate, 1); search.trials.size() < kMaxTrials;) {
    search.trials.push_back(trial(n));
    if (search.trials.back().utilisation >= wanted) {
      search.fed = n;
    } else {
      failed = n;
    }
    if (failed == search.fed + 1) break;
    if (failed == 0) {
      n += stride;
    } else if (search.fed == 0) {
      n = n > stride ? n - stride : 1;
    } else {
      n = search.fed + (failed - search.fed) / 2;
    }
    stride = std::min<std::uint64_t>(2 * stride, 64);
  }
  return search;
}

AcceleratorSearch FindAccelerators(const EpochOptions& options, double wanted,
                                   const EpochHooks& hooks,
                                   const std::function<void(const AcceleratorTrial&)>& on_trial) {
  const std::uint64_t samples = Dataset::Open(options.dataset).size();
  EpochOptions alone = TrialOptions(options, 1, kTrialSteps, samples);
  alone.step = {};
  alone.warm_up = options.cold ? 0 : 1;
  const EpochFigures free_running = RunEpochs(alone, hooks).epochs.back();
  const AcceleratorTrial first{0, 0, ImagesPerSecond(free_running)};
  if (on_trial) on_trial(first);

  const double one_needs =
      static_cast<double>(options.loader.batch_size) * 1000 / options.step.milliseconds;
  const auto estimate = static_cast<std::uint64_t>(first.images_per_second / one_needs);
  AcceleratorSearch search = SearchAccelerators(wanted, estimate, [&](std::uint64_t accelerators) {
    const EpochOptions trial = TrialOptions(options, accelerators, kTrialSteps + 1, samples);
    const EpochFigures played = RunEpochs(trial, hooks).epochs.back();
    const AcceleratorTrial result{accelerators, played.utilisation.value_or(0),
                                  ImagesPerSecond(played)};
    if (on_trial) on_trial(result);
    return result;
  });
  search.trials.insert(search.trials.begin(), first);
  return search;
}

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

namespace {

double MedianSeconds(const EpochsRun& run) {
  std::vector<double> seconds;
  for (const EpochFigures* const figures : run.Measured())
    seconds.push_back(figures->seconds);
  return Median(seconds);
}

}  // namespace

PipelineCost MeasurePipelineCost(const EpochOptions& options, const EpochsRun& run,
                                 const std::stop_token& stop) {
  EpochHooks hooks;
  hooks.stop = stop;
  PipelineCost cost;
  cost.epoch_seconds = MedianSeconds(run);

  EpochOptions loading = options;
  loading.step = {};
  loading.epochs = 1;
  loading.warm_up = options.cold ? 0 : 1;
  loading.also_cold = 0;
  loading.floor = false;
  cost.loading_seconds = MedianSeconds(RunEpochs(loading, hooks));

  EpochOptions training = options;
  training.loader.diagnostics.repeat_first_batch = true;
  training.cold = false;
  training.also_cold = 0;
  training.floor = false;
  training.warm_up = 1;  // makes the one batch
  training.epochs = 1;
  training.most_batches = 50 * options.batches_per_step;
  if (options.most_batches > 0)
    training.most_batches = std::min(training.most_batches, options.most_batches);
  const EpochsRun steps = RunEpochs(training, hooks);
  const EpochFigures& played = steps.epochs.back();
  cost.training_seconds = played.seconds / static_cast<double>(played.steps) *
                          static_cast<double>(run.Measured().front()->steps);
  return cost;
}

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
