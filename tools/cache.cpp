// `sluice cache`: lists the remote datasets whose blocks a folder holds, and removes those that no
// process uses.
//
// Datasets that a process uses are listed, too, and stay.
#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/block_cache.h>
#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"

namespace sluice {
namespace {

constexpr const char* kCacheDescription =
    "Lists, or clears, a folder in which loaders keep blocks of remote datasets.\n\n"
    "DIR is the folder that a Loader's option `stage` names; fetched blocks are kept there. "
    "For each dataset, the command prints how much of it DIR holds, and whether a process uses it. "
    "The least recently used dataset comes first.\n";

constexpr const char* kCacheExamples =
    "\nExamples:\n"
    "  sluice cache /nvme/sluice\n"
    "  sluice cache /nvme/sluice --clear\n\n";

struct CacheArguments {
  std::string folder;
  bool clear = false;
  bool json = false;
};

int RunCache(const CacheArguments& arguments) {
  std::uint64_t freed = 0;
  if (arguments.clear) freed = ClearCache(arguments.folder);
  const std::vector<CachedDataset> datasets = DatasetsInCache(arguments.folder);
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const CachedDataset& dataset : datasets) {
      list.push_back({{"id", dataset.id},
                      {"bytes", dataset.bytes},
                      {"of_bytes", dataset.of_bytes},
                      {"in_use", dataset.in_use}});
    }
    nlohmann::ordered_json json = {{"folder", ShownPath(arguments.folder)}, {"datasets", list}};
    if (arguments.clear) json["freed_bytes"] = freed;
    cli::PrintJson(json);
    return cli::kDone;
  }
  std::string text;
  if (arguments.clear) text += cli::BytesText(freed) + " freed\n";
  if (datasets.empty()) text += "no datasets\n";
  for (const CachedDataset& dataset : datasets) {
    text += dataset.id + "  " + cli::BytesText(dataset.bytes) + " of " +
            cli::BytesText(dataset.of_bytes) + (dataset.in_use ? ", in use\n" : "\n");
  }
  cli::PrintOut(text);
  return cli::kDone;
}

}  // namespace

cli::Command AddCacheCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("cache", kCacheDescription);
  const auto arguments = std::make_shared<CacheArguments>();
  cli::AddArgument(*app, "DIR", arguments->folder, "the cache's folder");
  app->add_flag("--clear", arguments->clear, "remove the datasets that no process uses");
  app->add_flag("--json", arguments->json, "print one JSON object to standard output");
  app->footer(std::string(kCacheExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunCache(*arguments); }};
}

}  // namespace sluice
