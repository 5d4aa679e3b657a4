// Finds how many accelerators of a kind the loader can feed on this machine.
//
// As in MLPerf Storage: a pretend accelerator sleeps for as long as the real one computes on a
// batch, and is fed well enough if it computes for a given share of the time. Several work in step,
// each on its own batch, as in data-parallel training on one machine. The first step of an epoch,
// which waits for the pipeline to fill, is not counted.
#pragma once

#include <string>
#include <vector>

#include "bench/epoch/run.h"

namespace sluice::bench {

struct Profile {
  std::string name;
  std::size_t batch_size = 0;
  double step_ms = 0;
  double utilisation = 0;  // the required share of the time
};
const std::vector<Profile>& Profiles();
// Throws cli::UsageError if there is no profile of that name.
const Profile& ProfileNamed(const std::string& name);

struct AcceleratorTrial {
  std::uint64_t accelerators = 0;
  double utilisation = 0;
  double images_per_second = 0;
};

struct AcceleratorSearch {
  double wanted = 0;                     // required utilisation
  std::vector<AcceleratorTrial> trials;  // in the order taken; the first has no step
  std::uint64_t fed = 0;                 // the largest number that was fed
};

// The number of steps each trial measures.
inline constexpr std::uint64_t kTrialSteps = 25;

// Searches for the largest number that passes, beginning with an estimate (which may be 0): in
// growing strides until one has passed and one has failed, then by bisection. `trial` plays one
// number.
AcceleratorSearch SearchAccelerators(
    double wanted, std::uint64_t estimate,
    const std::function<AcceleratorTrial(std::uint64_t accelerators)>& trial);

// Plays the trials: options say dataset, transform, batch size and step.
AcceleratorSearch FindAccelerators(const EpochOptions& options, double wanted,
                                   const EpochHooks& hooks,
                                   const std::function<void(const AcceleratorTrial&)>& on_trial);

}  // namespace sluice::bench
