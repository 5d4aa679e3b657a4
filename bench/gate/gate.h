// Whether one result is worse than another, by more than noise.
//
// A measurement has become worse if its median has worsened by more than a tolerance, and such a
// difference would be unlikely by chance (the one-sided Mann-Whitney test, see statistics.h). If
// only the first condition holds, the judgement is "unclear": too few values, or too much noise.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/report/result.h"

namespace sluice::bench {

struct GateRule {
  double tolerance = 0.05;  // how much worse a median may be, as a share of the baseline's
  double chance = 0.05;     // the accepted probability of a false alarm
};

enum class Judgement { kSame, kBetter, kWorse, kUnclear, kMissing };
const char* NameOf(Judgement judgement) noexcept;

struct GateLine {
  std::string name, unit;
  double before = 0, after = 0;  // medians
  double gain = 0;               // of the median, as a share; below 0: worse
  double chance = 1;             // probability of such a change by chance alone
  Judgement judgement = Judgement::kSame;
};

// Judges each of the baseline's measurements. A measurement that the new result lacks is kMissing.
std::vector<GateLine> Judge(const std::vector<Measurement>& before,
                            const std::vector<Measurement>& after, const GateRule& rule);

// Whether an option ("--epochs") may have different values in results that are compared.
using MayDiffer = std::function<bool(const std::string& option)>;

// The differences between two results' settings and machines that make a comparison meaningless,
// each as text such as "threads: 2 and 4".
std::vector<std::string> DifferencesThatMatter(const nlohmann::ordered_json& before,
                                               const nlohmann::ordered_json& after,
                                               const MayDiffer& may_differ);

}  // namespace sluice::bench
