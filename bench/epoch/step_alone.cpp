#include "bench/epoch/step_alone.h"

#include <algorithm>

#include "bench/report/statistics.h"

namespace sluice::bench {
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

}  // namespace sluice::bench
