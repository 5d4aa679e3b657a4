// `sluice merge`: makes one dataset of the samples of several. There may be any number of inputs
// (data/part-*), so NEW is simply the last of the arguments, and RunMerge() checks that there are
// two at least. MergeDatasets() refuses duplicates unless told otherwise, so a number of duplicates
// in the summary means that the user chose to keep or to drop them.
#include <memory>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kMergeDescription =
    "Makes one dataset of several.\n\n"
    "The datasets must have the same fields. Classes are matched by name: those of the first "
    "dataset keep their numbers, and new ones are added after them. Shards whose class numbers do "
    "not change are hard-linked (or copied, on another file system). Nothing is decoded; every "
    "byte is compared with its checksum, and damage ends the merge.\n\n"
    "If two datasets have the same sample (key and content), merge refuses, unless --duplicates "
    "says what to do. Samples with the same key but different content are all taken, with a "
    "warning.\n";

constexpr const char* kMergeExamples =
    "\nExamples:\n"
    "  sluice merge data/part-* data/all\n"
    "  sluice merge data/first data/second data/both --duplicates drop\n\n";

struct MergeArguments {
  std::vector<std::string> places;
  MergeOptions options;
  EditOutput output;
};

int RunMerge(MergeArguments& arguments) {
  if (arguments.places.size() < 2) throw cli::UsageError("DATASET... and NEW are required");
  const std::string out = arguments.places.back();
  const std::vector<std::filesystem::path> inputs(arguments.places.begin(),
                                                  arguments.places.end() - 1);
  MergeSummary summary;
  const bool done = RunEdit(arguments.output, "merging", "merging into " + cli::Printable(out),
                            [&](const EditHooks& hooks) {
                              summary = MergeDatasets(inputs, out, arguments.options, hooks);
                            });
  if (!done) return cli::kInterrupted;
  PrintWarnings(arguments.output, summary.made);
  if (arguments.output.json) {
    nlohmann::ordered_json json = MadeJson(out, summary.made);
    json["duplicates"] = summary.duplicates;
    json["same_keys"] = summary.same_keys;
    cli::PrintJson(json);
  } else if (!arguments.output.quiet) {
    std::string text = MadeLine(out, summary.made);
    if (summary.duplicates > 0) {
      const bool dropped = arguments.options.duplicates == Duplicates::kDrop;
      text += "  " + cli::CountText(summary.duplicates, "sample", "samples") +
              " that an earlier dataset also has were " + (dropped ? "left out\n" : "kept\n");
    }
    cli::PrintOut(text);
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
  cli::AddChoice(
      *app, "--duplicates", "WHAT",
      "what to do if two datasets have the same sample (key and content). refuse (default): report "
      "how many, and write nothing; keep: take it twice; drop: take it once",
      arguments->options.duplicates,
      {{"refuse", Duplicates::kRefuse}, {"keep", Duplicates::kKeep}, {"drop", Duplicates::kDrop}});
  AddMetaOption(*app, arguments->output.meta, kMetaHelp);
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kMergeExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunMerge(*arguments); }};
}

}  // namespace sluice
