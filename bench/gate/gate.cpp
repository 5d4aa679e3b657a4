// Two kinds of rules decide whether results may be compared at all. kSettings lists members of the
// results that must agree. In addition, the options that were given must agree; since an option
// that was not given has a default, an option is compared by the member of its name if both results
// have one. In the judgement, `change` is the plain change of the median, and `gain` has its sign
// turned if lower is better. The test is one-sided, in the direction in which the median moved. A
// gain that may be chance counts as the same; only a loss that may be chance is "unclear".
#include "bench/gate/gate.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bench/report/statistics.h"

namespace sluice::bench {
namespace {

GateLine JudgeOne(const Measurement& before, const Measurement& after, const GateRule& rule) {
  GateLine line{before.name, before.unit, Median(before.values), Median(after.values), 0, 1, {}};
  // A change from zero counts as a change by 100%.
  const double change =
      line.before != 0 ? line.after / line.before - 1 : static_cast<double>(line.after > 0);
  line.gain = before.higher_is_better ? change : 0 - change;
  line.chance = change >= 0 ? ChanceOfHigher(before.values, after.values)
                            : ChanceOfHigher(after.values, before.values);
  const bool certain = line.chance <= rule.chance;
  // A loss fails the gate only if it is beyond the tolerance and hardly by chance.
  if (line.gain < -rule.tolerance) {
    line.judgement = certain ? Judgement::kWorse : Judgement::kUnclear;
  } else if (line.gain > rule.tolerance && certain) {
    line.judgement = Judgement::kBetter;
  }
  return line;
}

// A JSON pointer into a result, and the commands of which it is a setting: their names, each
// between spaces (" epoch order "); empty: all commands. A setting that neither result has does not
// differ.
struct Setting {
  const char* place;
  const char* commands = "";
};
constexpr Setting kSettings[] = {{"/command"},
                                 {"/machine/cpu"},
                                 {"/machine/cpus"},
                                 {"/gpus"},
                                 {"/device"},
                                 {"/threads"},
                                 {"/batch_size"},
                                 {"/transform"},
                                 {"/layout"},
                                 {"/samples"},
                                 {"/images"},
                                 {"/repeat"},
                                 {"/direct"},
                                 {"/prefetch", " epoch "},
                                 {"/views", " epoch "},
                                 {"/sizes", " epoch "},
                                 {"/shuffle", " epoch "},
                                 {"/verify", " epoch "},
                                 {"/most_batches", " epoch "},
                                 {"/step_ms", " epoch "},
                                 {"/step_busy", " epoch "},
                                 {"/batches_per_step", " epoch "},
                                 {"/accelerators/wanted_utilisation", " epoch "},
                                 {"/cold", " epoch "},
                                 {"/device_steps", " epoch "},
                                 {"/device_decode", " epoch "},
                                 {"/read_ahead_depth_bytes", " epoch "},
                                 {"/cache", " epoch "},
                                 {"/cache_bytes", " epoch "},
                                 {"/stage_bytes", " epoch "},
                                 {"/share_bytes", " epoch "},
                                 {"/image", " epoch "},
                                 {"/normalize", " upload "},
                                 {"/side", " upload transforms "},
                                 {"/batches", " upload "},
                                 {"/max_side", " convert "},
                                 {"/quality", " convert "},
                                 {"/lanes", " order "}};

using Json = nlohmann::ordered_json;

std::string TextOf(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? "not given" : found->empty() ? "given" : found->dump();
}

// Compares the options that were given for either result. If both results have a member with the
// option's name ("lanes" for --lanes), compares the members instead, since they also hold defaults.
void AddOptionsThatDiffer(const Json& before, const Json& after, const MayDiffer& may_differ,
                          std::vector<std::string>& differences) {
  const Json a = before.value("options", Json::object());
  const Json b = after.value("options", Json::object());
  Json given = a;
  given.update(b);
  for (const auto& [option, values] : given.items()) {
    if (may_differ(option)) continue;
    std::string member = option.substr(option.find_first_not_of('-'));
    std::ranges::replace(member, '-', '_');
    const bool both = before.contains(member) && after.contains(member);
    const std::string one = both ? TextOf(before, member) : TextOf(a, option);
    const std::string other = both ? TextOf(after, member) : TextOf(b, option);
    if (one != other) differences.push_back(option + ": " + one + " and " + other);
  }
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
                                               const nlohmann::ordered_json& after,
                                               const MayDiffer& may_differ) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* place) {
    const nlohmann::ordered_json::json_pointer pointer(place);
    const auto a = before.contains(pointer) ? before.at(pointer) : nlohmann::ordered_json();
    const auto b = after.contains(pointer) ? after.at(pointer) : nlohmann::ordered_json();
    if (a != b)
      differences.push_back(std::string(place + 1) + ": " + a.dump() + " and " + b.dump());
  };
  const auto named = before.find("command");
  const std::string command =
      named != before.end() && named->is_string() ? " " + named->get<std::string>() + " " : " ? ";
  for (const Setting& setting : kSettings) {
    const std::string_view commands = setting.commands;
    if (commands.empty() || commands.find(command) != std::string_view::npos)
      compare(setting.place);
  }
  // Most of the settings above come from options. So if a setting differs, an option that differs
  // would often name the same difference again. Compare the options only if no setting differs.
  if (differences.empty()) AddOptionsThatDiffer(before, after, may_differ, differences);
  return differences;
}

}  // namespace sluice::bench
