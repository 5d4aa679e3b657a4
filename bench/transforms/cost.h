// What each step of a pipeline costs by itself, on one thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

struct StepCost {
  std::string step;                  // as typed
  std::vector<double> ns_per_pixel;  // of what comes out, by round
};

// Takes raw pixels of side x side, RGB (a smooth picture with some noise), through each of the
// steps into a row of a batch: random numbers are drawn anew for each time, as in an epoch. Rounds
// go over all steps in turn. A round takes about `seconds_each` for each step. Steps must leave the
// size fixed or as it is. Those that mix a batch come last, and mix every 16 rows; those for labels
// are refused: cli::UsageError. Throws Interrupted.
std::vector<StepCost> MeasureSteps(const std::vector<std::string>& steps, std::uint32_t side,
                                   std::uint64_t rounds, double seconds_each,
                                   const std::stop_token& stop);

// One of every kind, "none" first: that is a copy of the row.
std::vector<std::string> EveryStep(std::uint32_t side);

}  // namespace sluice::bench
