#include "bench/epoch.h"

#include <cstdio>
#include <memory>

#include "bench/epoch_report.h"
#include "bench/epoch_run.h"
#include "bench/transform_text.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::ParseChoice;
using cli::ParseInteger;

constexpr const char* kDescription =
    "Plays epochs and says what they cost.\n\n"
    "Plays epochs of the dataset and prints for each: seconds; images per second; megabytes of\n"
    "payload read per second; the share of the time in which the consumer waited for a batch; CPU\n"
    "seconds of the whole process per 1000 images; and the process's peak memory, pages of mapped\n"
    "files included. The time to the first batch counts from the process's start.\n";

constexpr const char* kExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench epoch data/photos --batch-size 256 --transform rrc:224 --flip\n"
    "  sluice-bench epoch data/photos --transform short:256,center:224 --shuffle sequential\n"
    "  sluice-bench epoch data/photos --step-ms 50        a trainer that takes 50 ms a batch\n"
    "  sluice-bench epoch data/raw64 --floor --json\n\n";

struct Arguments {
  EpochOptions options;
  std::string dataset;
  std::optional<Pipeline> transform;
  std::string transform_text;
  bool flip = false;
  bool json = false;
  bool quiet = false;
};

void AddLoaderOptions(CLI::App& app, Arguments& arguments) {
  LoaderOptions& loader = arguments.options.loader;
  AddOption(
      app, "--batch-size", "N", "samples in a batch (default 256)",
      [&loader](const std::string& text) { loader.batch_size = ParseInteger(text, 1, 1'000'000); });
  AddOption(app, "--threads", "N", "decoding threads (default: one for each CPU)",
            [&loader](const std::string& text) {
              loader.threads = static_cast<unsigned>(ParseInteger(text, 1, 1024));
            });
  AddOption(app, "--prefetch", "N",
            cli::Format("batches decoded ahead (default %zu)", loader.prefetch),
            [&loader](const std::string& text) { loader.prefetch = ParseInteger(text, 1, 1024); });
  AddOption(app, "--transform", "STEPS", kTransformHelp, [&arguments](const std::string& text) {
    arguments.transform = ParseTransform(text);
    arguments.transform_text = text;
  });
  app.add_flag("--flip", arguments.flip, "flip half of the images left to right");
  AddOption(app, "--shuffle", "HOW", "quasi_random (default), random or sequential",
            [&loader](const std::string& text) {
              loader.shuffle = ParseChoice<Shuffle>(text, {{"quasi_random", Shuffle::kQuasiRandom},
                                                           {"random", Shuffle::kRandom},
                                                           {"sequential", Shuffle::kSequential}});
            });
  AddOption(
      app, "--seed", "N", "of the order and of the transform's draws (default 0)",
      [&loader](const std::string& text) { loader.seed = ParseInteger(text, 0, UINT64_MAX); });
  AddOption(app, "--layout", "L", "nhwc (default) or nchw", [&loader](const std::string& text) {
    loader.layout = ParseChoice<Layout>(text, {{"nhwc", Layout::kNHWC}, {"nchw", Layout::kNCHW}});
  });
  AddOption(app, "--behind", "HOW",
            "blocks behind the window: keep (default) mapped,\nunmap, or drop from the page cache",
            [&loader](const std::string& text) {
              loader.behind = ParseChoice<Behind>(
                  text,
                  {{"keep", Behind::kKeep}, {"unmap", Behind::kUnmap}, {"drop", Behind::kDrop}});
            });
  AddOption(app, "--verify", "WHEN",
            "compare payloads with their checksums: auto\n(default: raw ones in the first epoch, "
            "others always),\nalways, first_epoch or never",
            [&loader](const std::string& text) {
              loader.verify = ParseChoice<Verify>(text, {{"auto", Verify::kAuto},
                                                         {"always", Verify::kAlways},
                                                         {"first_epoch", Verify::kFirstEpoch},
                                                         {"never", Verify::kNever}});
            });
}

void AddMeasuringOptions(CLI::App& app, Arguments& arguments) {
  EpochOptions& options = arguments.options;
  AddOption(
      app, "--epochs", "N", "epochs to measure (default 3)",
      [&options](const std::string& text) { options.epochs = ParseInteger(text, 1, 1'000'000); });
  CLI::Option* const warm_up = AddOption(
      app, "--warm-up", "N", "epochs played before those (default 1; 0 with --cold)",
      [&options](const std::string& text) { options.warm_up = ParseInteger(text, 0, 1'000'000); });
  AddOption(
      app, "--step-ms", "X",
      "a pretend training step: sleep X milliseconds with\neach batch in hand (default 0)",
      [&options](const std::string& text) { options.step_ms = cli::ParseNumber(text, 3'600'000); });
  app.add_flag("--cold", options.cold,
               "before each epoch, close the dataset and drop its\nfiles from the page cache; "
               "opening it again counts\nas part of the epoch")
      ->excludes(warm_up);
  app.add_flag(
      "--floor", options.floor,
      "afterwards, a bare loop of the same decoding\n(of raw images: of copies) on as many "
      "threads");
  app.add_flag("--json", arguments.json,
               "print one JSON object to standard output, and no\nprogress");
  app.add_flag("--quiet", arguments.quiet, "no progress on standard error");
}

// What depends on other options or on the dataset.
void Complete(Arguments& arguments) {
  EpochOptions& options = arguments.options;
  options.dataset = arguments.dataset;
  if (options.cold) options.warm_up = 0;
  const Dataset dataset = Dataset::Open(options.dataset);
  if (!arguments.transform) {
    arguments.transform = DefaultTransform(dataset);
    arguments.transform_text = arguments.transform->empty() ? "none" : "rrc:224";
  }
  options.loader.transform = *arguments.transform;
  if (arguments.flip) {
    if (options.loader.transform.empty()) arguments.transform_text.clear();
    options.loader.transform.push_back(HorizontalFlip());
    arguments.transform_text += arguments.transform_text.empty() ? "flip" : ",flip";
  }
}

std::string ProgressTitle(const EpochOptions& options, std::uint64_t epoch) {
  if (epoch < options.warm_up) return "warming up";
  return "epoch " + std::to_string(epoch - options.warm_up + 1) + " of " +
         std::to_string(options.epochs);
}

int Run(Arguments& arguments) {
  Complete(arguments);
  const EpochOptions& options = arguments.options;
  const cli::Interrupt interrupt;
  cli::Progress progress(cli::ProgressStyleFor(arguments.json || arguments.quiet), "playing",
                         "playing " + cli::Printable(arguments.dataset));
  EpochTable table(options, arguments.transform_text);
  EpochHooks hooks;
  hooks.stop = interrupt.token();
  hooks.on_batch = [&](std::uint64_t epoch, std::uint64_t images, std::uint64_t images_in_all) {
    progress.SetActivity(ProgressTitle(options, epoch));
    progress.Update(images, images_in_all);
  };
  hooks.on_epoch = [&](const EpochFigures& figures) {
    progress.Erase();
    if (!arguments.json) table.PrintRow(figures);
    if (options.cold && figures.left_in_cache_bytes > 0) WarnLeftInCache(figures);
  };
  try {
    const EpochsRun run = RunEpochs(options, hooks);
    progress.Erase();
    if (arguments.json) {
      PrintEpochsJson(options, arguments.transform_text, run);
    } else {
      table.PrintEnd(run);
    }
  } catch (const Interrupted&) {
    progress.Erase();
    std::fputs("sluice-bench: interrupted\n", stderr);
    return cli::kInterrupted;
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddEpochCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("epoch", kDescription);
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("DATASET", arguments->dataset, "folder of the dataset")
      ->required()
      ->type_name("");
  AddLoaderOptions(*app, *arguments);
  AddMeasuringOptions(*app, *arguments);
  app->footer(std::string(kExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return Run(*arguments); }};
}

}  // namespace sluice::bench
