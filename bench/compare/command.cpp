// The command line of `sluice-bench compare`. Several SOURCEs and several --threads make a grid of
// comparisons, which CompareSeveral() runs. The names of --only and the existence of each source
// are checked before anything is measured, because packing the pictures for all loaders takes long.
// Options marked `comparable` may differ between two results that `sluice-bench gate` compares:
// they say how long or where to measure, but not what is played.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/compare/measure.h"
#include "bench/compare/recipe.h"
#include "bench/machine/disk.h"
#include "bench/report/result.h"
#include "format/remote/object_store.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using option_list::Option;
using option_list::Options;

constexpr const char* kCompareDescription =
    "Plays the same pictures through this loader and others.\n\n"
    "SOURCE is a folder of pictures, or a dataset; several are compared one after the other. A "
    "folder is converted (with the defaults of sluice convert); the dataset's JPEGs are written "
    "out, so that every loader starts from the same bytes, and each packs them into its own "
    "format. Then the loaders take turns over several rounds, each in a process of its own. In a "
    "turn, a loader plays whole epochs, with a random resized crop and a flip or the steps of "
    "--recipe, after one epoch that is not counted. A plain threaded loader of files "
    "(samples/plain_loader.h) is measured, "
    "too. A dataset of raw images of one size is instead compared with FFCV's raw form and with a "
    "loop that copies and does nothing else; there, each loader delivers the middle of each "
    "picture. A dataset of images of more than 8 bits or four channels (sluice convert --pixels "
    "keep) is compared with rasterio's windows of the same images as GeoTIFFs. "
    "bench/peers/setup.sh installs the other loaders; if one is missing or fails, a line "
    "in the table says so.\n";

constexpr const char* kCompareExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench compare photos/\n"
    "  bench/peers/setup.sh ~/peers\n"
    "  sluice-bench compare photos/ --peers ~/peers --repeat 10 --rounds 5 --html page.html\n"
    "  sluice-bench compare data/photos --only plain,tfdata --peers ~/peers\n"
    "  sluice-bench compare data/photos --recipe simclr --peers ~/peers\n"
    "  sluice-bench compare data/photos data/large --threads 1,2,4 --peers ~/peers\n\n";

struct CompareArguments {
  CompareOptions options;
  std::vector<std::string> sources;
  std::vector<unsigned> threads = {0};
  ResultOptions output;
};

Answer CompareAnswer(CompareArguments& arguments, const std::stop_token& stop,
                     cli::Progress& progress) {
  const SideBySide all =
      CompareSeveral(arguments.options, {arguments.sources.begin(), arguments.sources.end()},
                     arguments.threads, HooksOf(stop, progress));
  return {TextOf(all), JsonOf(all), {}};
}

constexpr auto kCompareOptions = Options<CompareOptions>(
    "CompareOptions", "",
    Option("peers", &CompareOptions::peers, "folder that bench/peers/setup.sh made (default: none)",
           {.comparable = true, .value = "FOLDER"}),
    Option("work", &CompareOptions::work,
           "folder for the loaders' formats; use it for nothing else, since it is overwritten",
           {.comparable = true, .value = "FOLDER"}),
    Option("batch_size", &CompareOptions::batch_size, "samples in a batch",
           {.least = 1, .most = 100'000}),
    Option("size", &CompareOptions::size,
           "side of the crops; 0: 224, or 640 for detection and mosaic", {.most = 2048}),
    Option("repeat", &CompareOptions::repeat,
           "play each picture N times an epoch, because some loaders have a fixed cost per epoch",
           {.least = 1, .most = 10'000}),
    Option("rounds", &CompareOptions::rounds, "rounds; each loader runs once per round",
           {.least = 1, .most = 1000, .comparable = true}),
    Option("seconds", &CompareOptions::seconds, "seconds of measured epochs in a run, at least",
           {.most = 36'000, .comparable = true, .value = "X"}),
    Option("limit", &CompareOptions::limit_seconds, "seconds before a process is killed",
           {.least = 1, .most = 1e6, .comparable = true, .value = "SECONDS"}),
    Option("quality_images", &CompareOptions::quality_images,
           "pictures whose quality is measured; 0: none", {.most = 1000, .comparable = true}));

void AddOptions(CLI::App& app, CompareArguments& arguments) {
  CompareOptions& options = arguments.options;
  cli::AddDeclared(app, options, kCompareOptions);
  app.get_option("--work")->check(CheckWorkFolder);
  AddOption(
      app, "--only", "NAME[,NAME...]",
      "play only sluice and these of the loaders sluice-packed, sluice-files, "
      "sluice-cuda, sluice-packed-cuda, "
      "sluice-python, plain, ffcv, dali, tfdata, torchvision, torchvision-pil, "
      "albumentations, torchvision-cuda, torchcodec, webdataset, mds, litdata, lancedb, "
      "huggingface, spdl, ultralytics; for raw images: copies, ffcv; for wide images: rasterio",
      [&options](const std::string& text) { options.only = cli::Split(text); });
  std::string recipes;
  for (const Recipe& recipe : AllRecipes()) {
    recipes += std::string(recipes.empty() ? "" : "; ") + recipe.name + " (" + recipe.from +
               "): " + recipe.Text(recipe.size);
  }
  AddOption(app, "--recipe", "NAME",
            "play these steps instead of a crop and a flip, each loader by its own means; the "
            "output says how theirs differ. " +
                recipes,
            [&options](const std::string& text) { options.recipe = text; });
  AddOption(
      app, "--threads", "N[,N...]",
      "threads or processes of each loader (default: one for each CPU); several counts are "
      "measured one after another",
      [&arguments](const std::string& text) {
        arguments.threads.clear();
        for (const std::string& count : cli::Split(text))
          arguments.threads.push_back(static_cast<unsigned>(cli::ParseInteger(count, 1, 1024)));
      });
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
                    "all loaders read from this machine: fetch the dataset with sluice copy URL "
                    "DATASET");
              }
              std::error_code none;
              if (!std::filesystem::exists(source, none))
                throw Error(ErrorCode::kNotFound, ShownPath(source), "does not exist");
              shown += (shown.empty() ? "" : ", ") + cli::Printable(ShownPath(source));
            }
            return RunMeasuring(arguments->output, "comparing", "comparing with " + shown,
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  return CompareAnswer(*arguments, stop, progress);
                                });
          }};
}

}  // namespace sluice::bench
