#include <memory>
#include <optional>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/read_limits.h"
#include "tools/commands.h"
#include "tools/inspect_report.h"

namespace sluice {
namespace {

constexpr const char* kInspectDescription =
    "Shows what a dataset holds.\n\n"
    "Prints the content of the manifest: schema, counts, classes, sizes, and how the dataset\n"
    "was made. Reads a shard only if --sample or --key asks for one of its samples.\n";

constexpr const char* kInspectExamples =
    "\n"
    "Examples:\n"
    "  sluice inspect data/photos\n"
    "  sluice inspect data/photos --sample 0\n"
    "  sluice inspect data/photos --key cats/tom.jpg\n"
    "  sluice inspect data/photos --shards --json\n\n";

struct InspectArguments {
  std::string dataset;
  std::optional<std::uint64_t> sample;
  std::optional<std::string> key;
  bool shards = false;
  bool json = false;
  ReadLimits limits;
};

std::uint64_t FindKey(const Dataset& dataset, const std::string& key) {
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    if (dataset[i].key() == key) return i;
  }
  throw Error(ErrorCode::kNotFound, dataset.path().string(),
              "has no sample with the key \"" + key +
                  "\"; a key is the source's path relative to its folder");
}

int RunInspect(const InspectArguments& arguments) {
  const Dataset dataset = Dataset::Open(arguments.dataset, arguments.limits);
  std::optional<std::uint64_t> sample = arguments.sample;
  if (arguments.key) sample = FindKey(dataset, *arguments.key);
  if (arguments.json) {
    PrintInspectJson(dataset, arguments.shards, sample);
  } else if (sample) {
    PrintSampleText(dataset, *sample);
  } else {
    PrintInspectText(dataset, arguments.shards);
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddInspectCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("inspect", kInspectDescription);
  const auto arguments = std::make_shared<InspectArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  CLI::Option* const sample =
      cli::AddNumber(*app, "--sample", "N", "show the fields of sample N (from 0)",
                     arguments->sample, 0, UINT64_MAX);
  cli::AddOption(*app, "--key", "KEY",
                 "show the fields of the sample with that key, the first\n"
                 "if there are several",
                 [arguments](const std::string& text) { arguments->key = text; })
      ->excludes(sample);
  cli::AddMaxValueBytes(*app, arguments->limits.max_value_bytes);
  app->add_flag("--shards", arguments->shards, "list the shards, too");
  app->add_flag("--json", arguments->json, "print one JSON object to standard output");
  app->footer(std::string(kInspectExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunInspect(*arguments); }};
}

}  // namespace sluice
