#include "bench/epoch/accelerators.h"

#include <algorithm>

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
  constexpr std::size_t kMostTrials = 40;
  AcceleratorSearch search;
  search.wanted = wanted;
  std::uint64_t failed = 0;  // the smallest number that failed; 0: none yet
  std::uint64_t stride = 1;  // doubles until both sides are known
  for (std::uint64_t n = std::max<std::uint64_t>(estimate, 1);
       search.trials.size() < kMostTrials;) {
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

}  // namespace sluice::bench
