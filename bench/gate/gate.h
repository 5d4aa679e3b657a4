// Whether one result is worse than another, by more than noise.
//
// A measurement has become worse where its median has by more than a tolerance, and where values so
// far apart would hardly come by chance (the one-sided Mann-Whitney test, see figures.h). Where the
// first holds and the second does not, nothing can be said: too few values, or too much noise.
#pragma once

#include <string>
#include <vector>

#include "bench/report/measurement.h"

namespace sluice::bench {

struct GateRule {
  double tolerance = 0.05;  // share of the baseline's median
  double chance = 0.05;     // at most, of a false alarm
};

enum class Judgement { kSame, kBetter, kWorse, kUnclear, kMissing };
const char* NameOf(Judgement judgement) noexcept;

struct GateLine {
  std::string name, unit;
  double before = 0, after = 0;  // medians
  double gain = 0;               // of the median, as a share; below 0: worse
  double chance = 1;             // of a change so large, in its direction, without any cause
  Judgement judgement = Judgement::kSame;
};

// Of each of the baseline's measurements; kMissing where the new result lacks it.
std::vector<GateLine> Judge(const std::vector<Measurement>& before,
                            const std::vector<Measurement>& after, const GateRule& rule);

// Settings and facts of the machine in which two results differ, so that comparing them would say
// nothing: "threads: 2 and 4".
std::vector<std::string> DifferencesThatMatter(const nlohmann::ordered_json& before,
                                               const nlohmann::ordered_json& after);

}  // namespace sluice::bench
