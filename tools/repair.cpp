// `sluice repair`: makes an intact dataset of a damaged one, or rebuilds a lost manifest in place.
// Lost samples are a part of the result and not an Error: they are listed even with --quiet, and
// the exit code (kSomeLeftOut) says that there are some. An entry of the list may be one sample, a
// run of samples, or, if it is unknown which samples they were, only their number.
#include <memory>

#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kRepairDescription =
    "Makes an intact dataset of a damaged one.\n\n"
    "Shards without faults are hard-linked (or copied). From a damaged shard, every sample whose "
    "values are all intact is written to a new shard, even if the header, the directory or the "
    "tail is lost; lost samples are listed. A lost manifest is rebuilt from the shards. The "
    "damaged dataset is not changed.\n\n"
    "Without NEW, only a lost manifest is rebuilt, in DATASET itself.\n";

constexpr const char* kRepairExamples =
    "\nExamples:\n"
    "  sluice verify data/photos || sluice repair data/photos data/mended\n\n";

struct RepairArguments {
  std::string dataset;
  std::string out;
  EditOutput output;
};

std::string LostLines(const RepairReport& report) {
  std::string text;
  for (const LostSample& lost : report.lost) {
    text += "  lost: " + cli::Printable(lost.shard);
    if (lost.samples > 1 && lost.sample >= 0) {
      text += ", samples " + std::to_string(lost.sample) + " to " +
              std::to_string(static_cast<std::uint64_t>(lost.sample) + lost.samples - 1);
    } else if (lost.samples > 1) {
      text += ", " + std::to_string(lost.samples) + " samples";
    } else if (lost.sample >= 0) {
      text += ", sample " + std::to_string(lost.sample);
    }
    if (!lost.key.empty()) text += " (" + cli::Printable(lost.key) + ")";
    text += ": " + cli::Printable(lost.reason) + "\n";
  }
  return text;
}

void PrintReport(const RepairArguments& arguments, const RepairReport& report) {
  const std::string made = arguments.out.empty() ? arguments.dataset : arguments.out;
  if (arguments.output.json) {
    nlohmann::ordered_json json = MadeJson(made, report.made);
    json["manifest_rebuilt"] = report.manifest_rebuilt;
    json["shards_mended"] = report.shards_mended;
    json["lost"] = nlohmann::ordered_json::array();
    for (const LostSample& lost : report.lost) {
      nlohmann::ordered_json one{{"shard", lost.shard},
                                 {"sample", nullptr},
                                 {"samples", lost.samples},
                                 {"key", nullptr},
                                 {"reason", lost.reason}};
      if (lost.sample >= 0) one["sample"] = lost.sample;
      if (!lost.key.empty()) one["key"] = lost.key;
      json["lost"].push_back(std::move(one));
    }
    return cli::PrintJson(json);
  }
  if (arguments.output.quiet) return cli::PrintOut(LostLines(report));
  std::string text = MadeLine(made, report.made);
  if (report.manifest_rebuilt) text += "  the manifest was rebuilt from the shards\n";
  if (report.shards_mended > 0) {
    text += "  " + cli::CountText(report.shards_mended, "shard was", "shards were") +
            " damaged and rewritten\n";
  }
  cli::PrintOut(text + LostLines(report));
}

int RunRepair(RepairArguments& arguments) {
  RepairReport report;
  const bool done = RunEdit(arguments.output, "mending",
                            "mending " + cli::Printable(ShownPath(arguments.dataset)),
                            [&](const EditHooks& hooks) {
                              report = RepairDataset(arguments.dataset, arguments.out, hooks);
                            });
  if (!done) return cli::kInterrupted;
  PrintWarnings(arguments.output, report.made);
  PrintReport(arguments, report);
  return report.lost.empty() ? cli::kDone : cli::kSomeLeftOut;
}

}  // namespace

cli::Command AddRepairCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("repair", kRepairDescription);
  const auto arguments = std::make_shared<RepairArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  app->add_option("NEW", arguments->out, "folder to create")->type_name("");
  AddMetaOption(*app, arguments->output.meta, kMetaHelp);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kRepairExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunRepair(*arguments); }};
}

}  // namespace sluice
