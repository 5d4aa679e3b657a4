#include <memory>

#include <nlohmann/json.hpp>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "bench/report/statistics.h"
#include "bench/transforms/cost.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::Format;

constexpr const char* kDescription =
    "Measures what each step of a transform costs.\n\n"
    "Figures are nanoseconds of CPU time a pixel, on one thread. Each step runs on raw pixels\n"
    "and writes a row of a batch, so every figure includes one copy of the row (the step\n"
    "\"none\") and no decoding; no dataset is needed. Steps are measured in turns, and random\n"
    "numbers are drawn anew each time, as in an epoch; mixup and cutmix mix 16 rows. A crop\n"
    "or resize that is fused with decoding a JPEG costs less than the same step on raw pixels\n"
    "does here.\n";

constexpr const char* kExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench transforms\n"
    "  sluice-bench transforms --steps jitter:0.4/0.4/0.4/0.1 --steps blur:9 --side 96\n\n";

struct Arguments {
  std::vector<std::string> steps;
  std::uint32_t side = 224;
  std::uint64_t rounds = 5;
  double milliseconds = 50;
  ResultOptions output;
};

std::string TextOf(const std::vector<StepCost>& costs, const Arguments& arguments) {
  std::string text =
      Format("%-34s %9s   %-16s %9s\n", "step", "ns/pixel", "least to most", "us a row");
  for (const StepCost& cost : costs) {
    const Spread spread = SpreadOf(cost.ns_per_pixel);
    const std::string range = Format("%.2f to %.2f", spread.least, spread.most);
    text += Format("%-34s %9.2f   %-16s %9.0f\n", cost.step.c_str(), spread.median, range.c_str(),
                   1e-3 * spread.median * arguments.side * arguments.side);
  }
  return text;
}

Answer MeasureTransforms(Arguments arguments, const std::stop_token& stop) {
  if (arguments.steps.empty()) arguments.steps = EveryStep(arguments.side);
  const LoadWatch others;
  const std::vector<StepCost> costs = MeasureSteps(
      arguments.steps, arguments.side, arguments.rounds, 1e-3 * arguments.milliseconds, stop);
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  std::vector<Measurement> measurements;
  for (const StepCost& cost : costs)
    measurements.push_back({"ns_per_pixel." + cost.step, "ns", false, cost.ns_per_pixel});
  auto result = ResultOf("transforms", measurements, warnings);
  result.update({{"steps", arguments.steps},
                 {"side", arguments.side},
                 {"rounds", arguments.rounds},
                 {"milliseconds_each", arguments.milliseconds}});
  return {TextOf(costs, arguments) + WarningsText(warnings), std::move(result), {}};
}

}  // namespace

cli::Command AddTransformsCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("transforms", kDescription);
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("--steps", arguments->steps,
                  "steps to measure, as for `sluice-bench epoch\n"
                  "--transform`; may be given several times (default: one\n"
                  "of each kind)")
      ->allow_extra_args(false)
      ->type_name("STEPS");
  AddNumber(*app, "--side", "N", "side of the square pictures, in pixels (default 224)",
            arguments->side, 1, 4096);
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 5)", arguments->rounds, 1, 10'000);
  AddNumber(*app, "--ms", "T", "milliseconds for each step in a round (default 50)",
            arguments->milliseconds, 0, 60'000);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "measuring", "measuring steps of transforms",
                                [&](const std::stop_token& stop, cli::Progress&) {
                                  return MeasureTransforms(*arguments, stop);
                                });
          }};
}

}  // namespace sluice::bench
