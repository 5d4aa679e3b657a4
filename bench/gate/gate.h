// Whether one result is worse than another, by more than noise.
//
// A measurement has become worse if its median has by more than a tolerance, and if such a
// difference would hardly come by chance (the one-sided Mann-Whitney test, see statistics.h). If
// only the first holds, nothing can be said: too few values, or too much noise.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/report/result.h"

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
  double chance = 1;             // that chance alone gives a change so large, in its direction
  Judgement judgement = Judgement::kSame;
};

// Judges each of the baseline's measurements; kMissing if the new result lacks it.
std::vector<GateLine> Judge(const std::vector<Measurement>& before,
                            const std::vector<Measurement>& after, const GateRule& rule);

// Whether results may be compared although an option ("--epochs") has other values.
using MayDiffer = std::function<bool(const std::string& option)>;

// Settings and properties of the machine that differ between two results, so that comparing them
// says nothing: "threads: 2 and 4".
std::vector<std::string> DifferencesThatMatter(const nlohmann::ordered_json& before,
                                               const nlohmann::ordered_json& after,
                                               const MayDiffer& may_differ);

}  // namespace sluice::bench
