// `sluice when`: the batches in which a training plays given samples. The answer is computed from
// the manifest and the options alone (Loader::When()); only --key reads shards.
//
// The rows of all ranks are listed, since any of them may play a sample, so there are options for
// the number of ranks but not for a rank. A resumed training follows the same plan as one that was
// not interrupted, so --resume-from does not change the answer: it only checks the other options.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/loader_option_list.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/samples.h"

namespace sluice {

namespace {

constexpr const char* kWhenDescription =
    "Says when a training plays a sample.\n\n"
    "Give the options of the training's loader that decide the order. Prints a line for each time "
    "that the training plays the sample: the sample, the epoch, the batch's number in the epoch, "
    "the rank, the row of the batch, and the position in the epoch.\n\n"
    "The lines are computed from the options. If the training met samples that it could not read, "
    "it left them out or played others in their place, and its loader.faults() lists them. For "
    "lists of samples, mixtures and functions that compose batches, ask loader.when() in the "
    "program that trains.\n";

constexpr const char* kWhenExamples =
    "\n"
    "Examples:\n"
    "  sluice when data/photos --sample 7 --batch-size 256 --world-size 8 --epochs 90\n"
    "  sluice when data/photos --key cats/tom.jpg --batch-size 64 --seed 3 --json\n\n";

struct WhenArguments {
  std::string dataset;
  std::vector<std::uint64_t> samples;
  std::vector<std::string> keys;
  std::uint64_t epochs = 1;
  LoaderOptions loader;
  bool json = false;
};

// Loader::When() refuses a state that the other options do not fit, so a wrong --seed is reported
// instead of giving the rows of another order.
ResumePoint ParseState(const std::string& text) {
  const ResumePoint point = ResumePoint::Parse(text);
  if (point.list != "batches") return point;
  throw cli::UsageError(
      "the state is of a training whose batches a function composes (order.batches), which a "
      "command does not have; ask loader.when() in the program that has the function");
}

int RunWhen(WhenArguments arguments) {
  const Dataset dataset = Dataset::Open(arguments.dataset);
  for (const std::string& key : arguments.keys)
    arguments.samples.push_back(FindKey(dataset, key));
  std::vector<std::uint64_t> epochs(arguments.epochs);
  std::iota(epochs.begin(), epochs.end(), std::uint64_t{0});
  auto rows = nlohmann::ordered_json::array();
  std::string text = "sample\tepoch\tbatch\trank\trow\tposition\n";
  for (const PlayedRow& row : Loader::When(dataset, arguments.loader, arguments.samples, epochs)) {
    rows.push_back({{"sample", row.sample},
                    {"epoch", row.epoch},
                    {"batch", row.batch},
                    {"rank", row.rank},
                    {"row", row.row},
                    {"position", row.position}});
    // The lines of the text have the numbers of the JSON object, in its order.
    for (const auto& value : rows.back())
      text += value.dump() + (&value == &rows.back().back() ? "\n" : "\t");
  }
  if (arguments.json) {
    cli::PrintJson({{"dataset", arguments.dataset}, {"id", dataset.id()}, {"rows", rows}});
  } else {
    cli::PrintOut(rows.empty() ? "no batch of these epochs has them\n" : text);
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddWhenCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("when", kWhenDescription);
  const auto arguments = std::make_shared<WhenArguments>();
  LoaderOptions& loader = arguments->loader;
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset, or its URL");
  cli::AddOption(*app, "--sample", "N[,N...]", "samples, by number (from 0)",
                 [arguments](const std::string& text) {
                   for (const std::string& number : cli::Split(text))
                     arguments->samples.push_back(cli::ParseInteger(number, 0, UINT64_MAX));
                 });
  app->add_option("--key", arguments->keys,
                  "the sample with that key, the first if there are several; may be given several "
                  "times")
      ->type_name("KEY")
      ->allow_extra_args(false);
  cli::AddDeclared(*app, *arguments,
                   option_list::Option("epochs", &WhenArguments::epochs, "the first N epochs",
                                       {.least = 1, .most = 1'000'000}));
  cli::AddDeclared(*app, loader, &LoaderOptions::batch_size);
  cli::AddDeclared(*app, loader, &LoaderOptions::seed);
  cli::AddDeclared(*app, loader.order);
  cli::AddDeclared(*app, loader.ranks, {{"rank", nullptr}});
  cli::AddOption(*app, "--resume-from", "STATE",
                 "the text of the training's state: check that these options fit it",
                 [&loader](const std::string& text) { loader.resume_from = ParseState(text); });
  app->add_flag("--json", arguments->json, "print one JSON object to standard output");
  app->footer(std::string(kWhenExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            if (arguments->samples.empty() && arguments->keys.empty())
              throw cli::UsageError("name a sample: give --sample or --key");
            return RunWhen(*arguments);
          }};
}

}  // namespace sluice
