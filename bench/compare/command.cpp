#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/compare/measure.h"
#include "bench/machine/disk.h"
#include "bench/report/result.h"
#include "format/remote/object_store.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::AddOption;

constexpr const char* kCompareDescription =
    "Plays the same pictures through this loader and others.\n\n"
    "SOURCE is a folder of pictures, or a dataset; several are compared one after the other. A "
    "folder is converted (with the defaults of sluice convert); the dataset's JPEGs are written "
    "out, so that every loader starts from the same bytes, and each packs them into its own "
    "format. Then they take turns, each in a process of its own, over several rounds: "
    "random-resized-crop and flip, whole epochs, after one that is not counted. Beside them stands "
    "a plain threaded loader of files (samples/plain_loader.h). A dataset of raw images of one "
    "size is compared with loaders of those instead: FFCV's raw form, and a bare loop that copies "
    "and does nothing else; the middle of each is shown. What other loaders need is installed by "
    "bench/peers/setup.sh; one that is missing, or that fails, is a line in the table.\n";

constexpr const char* kCompareExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench compare photos/\n"
    "  bench/peers/setup.sh ~/peers\n"
    "  sluice-bench compare photos/ --peers ~/peers --repeat 10 --rounds 5 --html page.html\n"
    "  sluice-bench compare data/photos --only plain,tfdata --peers ~/peers\n"
    "  sluice-bench compare data/photos data/large --threads 1,2,4 --peers ~/peers\n\n";

struct CompareArguments {
  CompareOptions options;
  std::vector<std::string> sources;
  std::vector<unsigned> threads = {0};
  std::string work = "sluice-compare", peers;
  ResultOptions output;
};

Answer CompareAnswer(CompareArguments& arguments, const std::stop_token& stop,
                     cli::Progress& progress) {
  arguments.options.work = arguments.work;
  arguments.options.peers = arguments.peers;
  CompareHooks hooks;
  hooks.stop = stop;
  hooks.on_step = [&](const std::string& activity, std::uint64_t done, std::uint64_t all) {
    progress.SetActivity(activity);
    progress.Update(done, all);
  };
  const SideBySide all =
      CompareSeveral(arguments.options, {arguments.sources.begin(), arguments.sources.end()},
                     arguments.threads, hooks);
  return {TextOf(all), JsonOf(all), {}};
}

void AddOptions(CLI::App& app, CompareArguments& arguments) {
  CompareOptions& options = arguments.options;
  app.add_option("--peers", arguments.peers, "what bench/peers/setup.sh made (default: none)")
      ->type_name("FOLDER");
  AddOption(
      app, "--only", "NAME[,NAME...]",
      "these and sluice: sluice-packed, sluice-cuda, sluice-packed-cuda, sluice-python, plain, "
      "ffcv, dali, tfdata, torchvision, torchvision-cuda, torchcodec, webdataset, mds, "
      "litdata, lancedb, huggingface, spdl; of raw images copies, ffcv",
      [&options](const std::string& text) { options.only = cli::Split(text); });
  app.add_option(
         "--work", arguments.work,
         "a folder of its own for the formats (default sluice-compare); its content is overwritten")
      ->type_name("FOLDER")
      ->check(CheckWorkFolder);
  AddOption(
      app, "--threads", "N[,N...]",
      "threads or processes of each (default: all CPUs); several counts: one after the other",
      [&arguments](const std::string& text) {
        arguments.threads.clear();
        for (const std::string& count : cli::Split(text))
          arguments.threads.push_back(static_cast<unsigned>(cli::ParseInteger(count, 1, 1024)));
      });
  AddNumber(app, "--batch-size", "N", "samples in a batch (default 64)", options.batch_size, 1,
            100000);
  AddNumber(app, "--size", "S", "side of the crops (default 224)", options.size, 8, 2048);
  AddNumber(app, "--repeat", "N",
            "each picture N times an epoch: some loaders have a fixed cost for each (default 1)",
            options.repeat, 1, 10000);
  AddNumber(app, "--rounds", "N", "rounds, a turn of each loader in each (default 3)",
            options.rounds, 1, 1000);
  AddNumber(app, "--seconds", "X", "seconds of measured epochs in a turn, at least (default 10)",
            options.seconds, 0, 36000);
  AddNumber(app, "--limit", "SECONDS", "seconds before a process is killed (default 600)",
            options.limit_seconds, 1, 1'000'000);
  AddNumber(app, "--quality-images", "N",
            "pictures whose quality is measured (default 32; 0: none)", options.quality_images, 0,
            1000);
  cli::MarkComparable(
      app, {"--peers", "--work", "--rounds", "--seconds", "--limit", "--quality-images"});
}

}  // namespace

cli::Command AddCompareCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("compare", kCompareDescription);
  const auto arguments = std::make_shared<CompareArguments>();
  cli::AddArgument(*app, "SOURCE", arguments->sources, "folder of pictures, or a dataset");
  AddOptions(*app, *arguments);
  AddPageOption(*app, arguments->output);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kCompareExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            CheckNames(arguments->options);  // before anything is done
            std::string shown;
            for (const std::string& source : arguments->sources) {
              if (IsStoreUrl(source)) {
                throw cli::UsageError(
                    "all loaders read from this machine: bring the dataset with sluice copy URL "
                    "DATASET");
              }
              shown += (shown.empty() ? "" : ", ") + cli::Printable(ShownPath(source));
            }
            return RunMeasuring(arguments->output, "comparing", "comparing with " + shown,
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  return CompareAnswer(*arguments, stop, progress);
                                });
          }};
}

}  // namespace sluice::bench
