// The command line of `sluice-bench gate`: compares two results, and fails if one measurement has
// become worse.
//
// The comparison itself is in gate.h. This file decides what may be compared at all: the settings
// must be the same, except options that the command that made the results marks as free to differ.
// A measurement that the new result lacks counts as worse, so that none can disappear unnoticed.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "bench/commands.h"
#include "bench/gate/gate.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::Format;

constexpr const char* kGateDescription =
    "Compares two results and fails if the new one is worse.\n\n"
    "BASELINE and NEW are files that --json-file wrote. A measurement is worse if its median\n"
    "is worse by more than a tolerance and values so far apart would hardly come by chance\n"
    "(one-sided Mann-Whitney test over the values of both). Three epochs on each side are\n"
    "just enough for that; more show smaller changes. If the machines or the settings differ,\n"
    "the comparison is refused. Measure on a quiet machine; ratios taken in one run\n"
    "(sluice-bench compare) tolerate more noise than times do.\n";

constexpr const char* kGateExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench epoch data/photos --epochs 7 --json-file before.json\n"
    "  sluice-bench epoch data/photos --epochs 7 --json-file after.json\n"
    "  sluice-bench gate before.json after.json\n\n";

struct GateArguments {
  std::string before, after, only;
  GateRule rule;
  bool anyway = false;
  bool json = false;
};

void PrintLines(const GateArguments& arguments, const std::vector<GateLine>& lines, bool worse) {
  if (!arguments.json) {
    TextTable table({"measurement", "baseline", "new", "gain", "chance", "<"});
    for (const GateLine& line : lines) {
      table.Add({line.name, Format("%.5g", line.before), Format("%.5g", line.after),
                 Format("%+.1f%%", 100 * line.gain), Format("%.3f", line.chance),
                 NameOf(line.judgement)});
    }
    cli::PrintOut(table.Text() +
                  (worse ? "worse than the baseline\n" : "no measurement is worse\n"));
    return;
  }
  auto list = nlohmann::ordered_json::array();
  for (const GateLine& line : lines) {
    list.push_back(
        {{"name", line.name},
         {"unit", line.unit},
         {"baseline", line.before},
         {"new", line.after},
         {"gain", line.gain},
         {"chance", line.chance},
         {"judgement", line.judgement == Judgement::kWorse ? "worse" : NameOf(line.judgement)}});
  }
  cli::PrintJson({{"worse", worse}, {"measurements", list}});
}

int RunGate(CLI::App& program, const GateArguments& arguments) {
  const auto before = ReadResult(arguments.before);
  const auto after = ReadResult(arguments.after);
  // The command that made the results marks the options that may differ.
  const auto name = before.find("command");
  const auto makers = program.get_subcommands([&](const CLI::App* command) {
    return name != before.end() && *name == command->get_name();
  });
  const auto differences = DifferencesThatMatter(before, after, [&](const std::string& option) {
    return !makers.empty() && cli::MayDiffer(*makers.front(), option);
  });
  if (!differences.empty() && !arguments.anyway) {
    std::string text = "the two results cannot be compared, because they differ in";
    for (const std::string& difference : differences)
      text += "\n  " + difference;
    throw cli::UsageError(text +
                          "\n"
                          "--anyway compares them nevertheless");
  }
  std::vector<Measurement> chosen = MeasurementsOf(before, arguments.before);
  std::erase_if(chosen,
                [&](const Measurement& one) { return !one.name.starts_with(arguments.only); });
  if (chosen.empty()) {
    throw cli::UsageError("the baseline has no measurement whose name begins with \"" +
                          arguments.only + "\"");
  }
  const std::vector<GateLine> lines =
      Judge(chosen, MeasurementsOf(after, arguments.after), arguments.rule);
  const bool worse = std::any_of(lines.begin(), lines.end(), [](const GateLine& line) {
    return line.judgement == Judgement::kWorse || line.judgement == Judgement::kMissing;
  });
  PrintLines(arguments, lines, worse);
  return worse ? cli::kFailed : cli::kDone;
}

}  // namespace

cli::Command AddGateCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("gate", kGateDescription);
  const auto arguments = std::make_shared<GateArguments>();
  cli::AddArgument(*app, "BASELINE", arguments->before, "result to compare with");
  cli::AddArgument(*app, "NEW", arguments->after, "result that must not be worse");
  AddOption(*app, "--tolerance", "PERCENT", "percent by which a median may be worse (default 5)",
            [arguments](const std::string& text) {
              arguments->rule.tolerance = cli::ParseNumber(text, 100) / 100;
            });
  AddOption(*app, "--chance", "PERCENT", "chance of a false alarm in percent, at most (default 5)",
            [arguments](const std::string& text) {
              arguments->rule.chance = cli::ParseNumber(text, 100) / 100;
            });
  app->add_option("--only", arguments->only, "judge only measurements whose names begin with this")
      ->type_name("PREFIX");
  app->add_flag("--anyway", arguments->anyway, "compare results of different machines or settings");
  app->add_flag("--json", arguments->json, "print one JSON object to standard output");
  app->footer(std::string(kGateExamples) + cli::kExitCodeHelp);
  return {app, [&program, arguments] { return RunGate(program, *arguments); }};
}

}  // namespace sluice::bench
