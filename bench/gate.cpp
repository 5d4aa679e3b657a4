#include "bench/gate.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "bench/figures.h"

namespace sluice::bench {
namespace {

GateLine JudgeOne(const Measurement& before, const Measurement& after, const GateRule& rule) {
  GateLine line{before.name, before.unit, Median(before.values), Median(after.values), 0, 1, {}};
  const double change = line.before != 0 ? line.after / line.before - 1 : 0;
  line.gain = before.higher_is_better ? change : -change;
  line.chance = change >= 0 ? ChanceOfHigher(before.values, after.values)
                            : ChanceOfHigher(after.values, before.values);
  const bool certain = line.chance <= rule.chance;
  if (line.gain < -rule.tolerance) {
    line.judgement = certain ? Judgement::kWorse : Judgement::kUnclear;
  } else if (line.gain > rule.tolerance && certain) {
    line.judgement = Judgement::kBetter;
  }
  return line;
}

}  // namespace

const char* NameOf(Judgement judgement) noexcept {
  switch (judgement) {
    case Judgement::kSame: return "same";
    case Judgement::kBetter: return "better";
    case Judgement::kWorse: return "WORSE";
    case Judgement::kUnclear: return "unclear";
    case Judgement::kMissing: return "missing";
  }
  return "";
}

std::vector<GateLine> Judge(const std::vector<Measurement>& before,
                            const std::vector<Measurement>& after, const GateRule& rule) {
  std::vector<GateLine> lines;
  for (const Measurement& one : before) {
    const auto other = std::find_if(after.begin(), after.end(),
                                    [&](const Measurement& m) { return m.name == one.name; });
    if (other == after.end()) {
      lines.push_back({one.name, one.unit, Median(one.values), 0, 0, 1, Judgement::kMissing});
    } else {
      lines.push_back(JudgeOne(one, *other, rule));
    }
  }
  return lines;
}

std::vector<std::string> DifferencesThatMatter(const nlohmann::ordered_json& before,
                                               const nlohmann::ordered_json& after) {
  std::vector<std::string> differences;
  // Pointers into a result. What only one command's results have is absent from both of another's.
  for (const char* place : {"/command",
                            "/machine/cpu",
                            "/machine/cpus",
                            "/threads",
                            "/batch_size",
                            "/prefetch",
                            "/transform",
                            "/shuffle",
                            "/layout",
                            "/verify",
                            "/repeat",
                            "/most_batches",
                            "/step_ms",
                            "/step_busy",
                            "/batches_per_step",
                            "/cold",
                            "/read_ahead_depth_bytes",
                            "/direct",
                            "/cache",
                            "/cache_bytes",
                            "/stage_bytes",
                            "/samples",
                            "/images",
                            "/image"}) {
    const nlohmann::ordered_json::json_pointer pointer(place);
    const auto a = before.contains(pointer) ? before.at(pointer) : nlohmann::ordered_json();
    const auto b = after.contains(pointer) ? after.at(pointer) : nlohmann::ordered_json();
    if (a != b)
      differences.push_back(std::string(place + 1) + ": " + a.dump() + " and " + b.dump());
  }
  return differences;
}

}  // namespace sluice::bench
