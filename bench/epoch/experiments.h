// The measurements of `sluice-bench epoch` besides its epochs. Each plays further epochs or a part
// of their work: where the stages spend their time, how many accelerators the loader feeds
// (--find-accelerators), how throughput grows with threads (--threads A,B,...), what a pipeline
// loses compared with an ideal one (--step-ms), how fast a loader stops (--stops), and how much
// faster a source would play once it is converted.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/epoch/run.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"

namespace sluice::bench {

// How many accelerators of a kind the loader can feed on this machine.
//
// As in MLPerf Storage, a pretend accelerator sleeps for as long as the real one computes on a
// batch. It is fed well enough if it computes for a given share of the time. Several accelerators
// work in step, each on its own batch, as in data-parallel training on one machine. The first step
// of an epoch waits for the pipeline to fill, so it is not counted.

// A kind of accelerator with a model that it trains.
struct Profile {
  std::string name;
  std::size_t batch_size = 0;
  double step_ms = 0;
  double utilisation = 0;  // the share of the time that it must compute
};
const std::vector<Profile>& Profiles();
// Throws cli::UsageError for an unknown name.
const Profile& ProfileNamed(std::string_view name);

struct AcceleratorTrial {
  std::uint64_t accelerators = 0;
  double utilisation = 0;  // the share of the time in which they computed
  double images_per_second = 0;
};

struct AcceleratorSearch {
  double wanted = 0;  // required utilisation
  // In the order in which they ran. FindAccelerators() puts loading alone first (0 accelerators).
  std::vector<AcceleratorTrial> trials;
  std::uint64_t fed = 0;  // the largest number that was fed well enough
};

// The number of steps each trial measures.
inline constexpr std::uint64_t kTrialSteps = 25;

// Searches for the largest number of accelerators that passes, beginning with an estimate (which
// may be 0): in growing strides until one number has passed and one has failed, then by bisection.
// `trial` plays with the given number of accelerators.
AcceleratorSearch SearchAccelerators(
    double wanted, std::uint64_t estimate,
    const std::function<AcceleratorTrial(std::uint64_t accelerators)>& trial);

// Plays the trials. `options` gives the dataset, transform, batch size and step.
AcceleratorSearch FindAccelerators(const EpochOptions& options, double wanted,
                                   const EpochHooks& hooks,
                                   const std::function<void(const AcceleratorTrial&)>& on_trial);

// Throughput by the number of decoding threads, and the share of the work that does not run in
// parallel.
struct ThreadPoint {
  unsigned threads = 0;
  std::vector<double> images_per_second;  // by epoch
  double cpu_seconds_per_1000 = 0;        // median
};

struct ThreadCurve {
  std::vector<ThreadPoint> points;
  SerialShare fit;    // over the points of at most `cpus` threads, if these are two or more
  unsigned cpus = 0;  // more threads than this cannot be faster
};

// One epoch for each number of threads, in turn, options.epochs times over, so that disturbances on
// the machine affect all numbers alike.
ThreadCurve MeasureThreadCurve(const EpochOptions& options, const std::vector<unsigned>& threads,
                               const EpochHooks& hooks);

// Training, loading, and both together: the cost of a pipeline compared with an ideal one.
//
// If loading runs ahead of training, an epoch takes as long as the slower of the two, not their
// sum. Any time beyond that is lost to uneven stages, to a ring that is too short, or because both
// need the same processors.
struct PipelineCost {
  double training_seconds = 0;  // an epoch's steps, without loading
  double loading_seconds = 0;   // an epoch without steps
  double epoch_seconds = 0;     // as measured, with steps and loading
  double ideal_seconds() const noexcept {
    return training_seconds > loading_seconds ? training_seconds : loading_seconds;
  }
};

// For a run whose options have a step. Plays an epoch without the step, after a warm-up epoch
// unless epochs are cold; and takes up to 50 steps without loading.
PipelineCost MeasurePipelineCost(const EpochOptions& options, const EpochsRun& run,
                                 const std::stop_token& stop);

// Measures the seconds that it takes to destroy a loader in the middle of an epoch, for this many
// loaders, each stopped after 0 to 15 batches. Throws Error, and Interrupted if a stop is
// requested.
std::vector<double> MeasureStops(const EpochOptions& options, std::uint64_t loaders,
                                 const std::stop_token& stop);

// Where an epoch's time went, stage by stage.
struct StagePart {
  std::string name, description;
  double share = 0;  // its share of the time that its stage works
};

struct Stage {
  std::string name, description;
  unsigned threads = 1;
  double images = 0;           // images that the stage worked on
  double seconds = 0;          // time at work, summed over the stage's threads
  double waiting_seconds = 0;  // waiting for another stage
  std::vector<StagePart> parts;
};

// The loader's stages over the measured epochs (when cold: over the last epoch). The parts of
// decoding are those of run.parts, and the time in which its threads had no CPU. Where our decoder
// makes the pixels, this part is split by decoding some of the dataset's JPEGs or packed images
// afterwards, on one thread. If a source is played without a conversion, reading files and making
// samples of them are parts. If batches go to a device, the copies are a stage; if the device
// decodes images, that is another one.
std::vector<Stage> StagesOf(const EpochOptions& options, const EpochsRun& run,
                            const std::stop_token& stop);

// How much faster a source plays once it is converted.
struct ConversionGain {
  std::uint64_t samples = 0;  // that were converted and measured
  // Images a second of these samples: played from the source, and played once converted.
  double played = 0, converted = 0;
};

// Converts some of options.source's samples into a temporary folder, without changing their pixels
// (--quality keep --no-resize), and plays them in both forms with the loader's options. Empty if
// none of the samples can be converted. Throws Interrupted if a stop is requested.
std::optional<ConversionGain> MeasureConversion(const EpochOptions& options, const Dataset& played,
                                                const std::stop_token& stop);

}  // namespace sluice::bench
