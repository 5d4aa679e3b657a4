#include "tools/merge.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "tools/cli/exit_code.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kMergeDescription =
    "Makes one dataset of several.\n\n"
    "The datasets must have the same fields. Classes are reconciled by their names: the first\n"
    "dataset's keep their numbers, new ones are added behind. Shards whose numbers stay are\n"
    "hard-linked (or copied, on another file system); nothing is decoded.\n";

constexpr const char* kMergeExamples =
    "\nExamples:\n"
    "  sluice merge data/part-* data/all\n\n";

struct MergeArguments {
  std::vector<std::string> places;
  EditOutput output;
};

int RunMerge(MergeArguments& arguments) {
  if (arguments.places.size() < 2) throw cli::UsageError("DATASET... and NEW are required");
  const std::string out = arguments.places.back();
  const std::vector<std::filesystem::path> inputs(arguments.places.begin(),
                                                  arguments.places.end() - 1);
  EditSummary summary;
  const bool done =
      RunEdit(arguments.output, "merging", "merging into " + cli::Printable(out),
              [&](const EditHooks& hooks) { summary = MergeDatasets(inputs, out, hooks); });
  if (!done) return cli::kInterrupted;
  PrintWarnings(arguments.output, summary);
  if (arguments.output.json) {
    cli::PrintJson(MadeJson(out, summary));
  } else if (!arguments.output.quiet) {
    cli::PrintOut(MadeLine(out, summary));
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddMergeCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("merge", kMergeDescription);
  const auto arguments = std::make_shared<MergeArguments>();
  app->add_option("DATASET", arguments->places, "datasets to merge; then NEW, a folder to create")
      ->required()
      ->type_name("... NEW");
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kMergeExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunMerge(*arguments); }};
}

}  // namespace sluice
