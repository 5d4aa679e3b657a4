// The cost of each step of a pipeline by itself, on one thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/transform.h>

namespace sluice::bench {

struct StepCost {
  std::string step;                  // as typed
  std::size_t pixels_out = 0;        // of a row
  std::vector<double> ns_per_pixel;  // of output pixels, by round
};

// Runs each of the steps on raw pixels of side x side, RGB (a smooth picture with some noise), into
// a row of a batch; random numbers are drawn anew each time, as in an epoch. Rounds go over all
// steps in turn. A round takes about `seconds_each` for each step. A step must set a fixed size or
// leave the size as it is. Steps that mix a batch come last, and mix every 16 rows. Steps for
// labels are refused: cli::UsageError. Throws Interrupted.
std::vector<StepCost> MeasureSteps(const std::vector<std::string>& steps, std::uint32_t side,
                                   std::uint64_t rounds, double seconds_each,
                                   const std::stop_token& stop);

// One step of every kind; first "none", which is a copy of the row.
std::vector<std::string> EveryStep(std::uint32_t side);

}  // namespace sluice::bench
