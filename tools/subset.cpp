// `sluice subset`: makes a dataset of chosen samples of another one. The conditions and random
// choices are those of SubsetDataset(); this file parses them. The file of --samples is read before
// the dataset is opened, and a wrong line is reported by its number. An empty file is an error,
// because an empty list in Selection means any sample: the command would copy the whole dataset.
#include <memory>

#include <sluice/error.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/commands.h"
#include "tools/edit_command.h"
#include "tools/samples.h"

namespace sluice {
namespace {

constexpr const char* kSubsetDescription =
    "Makes a dataset of some samples of another dataset.\n\n"
    "Takes the samples that meet all conditions. Samples stay in their order, and classes keep "
    "their numbers. Nothing is decoded.\n\n"
    "A sample's class is that of its label. In a dataset without a label, a sample has all classes "
    "of its boxes, and is taken whole.\n";

constexpr const char* kSubsetExamples =
    "\nExamples:\n"
    "  sluice subset data/photos data/pets --class cat --class dog\n"
    "  sluice subset data/photos data/small --per-class 50 --seed 1\n"
    "  sluice subset data/photos data/chosen --samples numbers.txt\n\n";

struct SubsetArguments {
  std::string dataset;
  std::string out;
  std::string samples;  // a file with the numbers of samples to take
  Selection selection;
  EditOutput output;
};

constexpr auto kSelectionOptions = option_list::Options<Selection>(
    "Selection", "",
    option_list::Option("count", &Selection::count, "take N of the samples at random",
                        {.least = 1}),
    option_list::Option("per_class", &Selection::per_class, "take N of each class at random",
                        {.least = 1}),
    option_list::Option("seed", &Selection::seed, "seed of random choices"));

int RunSubset(SubsetArguments& arguments) {
  if (!arguments.samples.empty())
    arguments.selection.samples = ReadSampleNumbers(arguments.samples);
  EditSummary summary;
  const bool done = RunEdit(
      arguments.output, "copying", "copying samples into " + cli::Printable(arguments.out),
      [&](const EditHooks& hooks) {
        summary = SubsetDataset(arguments.dataset, arguments.out, arguments.selection, hooks);
      });
  if (!done) return cli::kInterrupted;
  PrintWarnings(arguments.output, summary);
  if (arguments.output.json) {
    cli::PrintJson(MadeJson(arguments.out, summary));
  } else if (!arguments.output.quiet) {
    cli::PrintOut(MadeLine(arguments.out, summary));
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddSubsetCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("subset", kSubsetDescription);
  const auto arguments = std::make_shared<SubsetArguments>();
  Selection& selection = arguments->selection;
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddArgument(*app, "NEW", arguments->out, "folder to create");
  app->add_option("--class", selection.classes, "take this class; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--samples", arguments->samples,
                  "take the samples with the numbers in this file, one a line")
      ->type_name("FILE");
  cli::AddDeclared(*app, selection, kSelectionOptions);
  AddMetaOption(*app, arguments->output.meta, kMetaHelp);
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kSubsetExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunSubset(*arguments); }};
}

}  // namespace sluice
