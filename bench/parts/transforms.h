// The cost of each step of a pipeline, measured alone on one thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

struct StepCost {
  std::string step;                  // as typed
  std::size_t pixels_out = 0;        // pixels of a row after the steps
  std::vector<double> ns_per_pixel;  // of output pixels, by round
};

// Runs each step on raw RGB pixels of side x side (a smooth picture with some noise), into a row of
// a batch. Random numbers are drawn again each time, as in an epoch. Each round goes over all steps
// in turn, for about `seconds_each` per step. A step must set a fixed size or leave the size
// unchanged. Steps that mix a batch come last, and mix every 16 rows. Throws cli::UsageError for
// a step that only changes labels, or that follows a step that mixes a batch; Interrupted.
std::vector<StepCost> MeasureSteps(const std::vector<std::string>& steps, std::uint32_t side,
                                   std::uint64_t rounds, double seconds_each,
                                   const std::stop_token& stop);

// One or several steps of every kind, without those that do not fit a side below 32. The first is
// "none", which copies the row.
std::vector<std::string> EveryStep(std::uint32_t side);

}  // namespace sluice::bench
