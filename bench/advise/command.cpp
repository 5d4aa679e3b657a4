// `sluice-bench advise`: looks at the pictures, tries forms on a sample of them, measures the disk,
// and prints the advice (advice.h).
//
// This file asks the questions in the order in which their answers are needed. The source's facts
// decide the transform, the transform decides the side of the trials, and the trials need both. The
// disk is measured before the trials, which read the source's files. Load of other programs is
// watched during the trials only, because there it falsifies the rates.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>
#include <sys/statvfs.h>

#include <sluice/cpu.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/parse_pipeline.h>
#include <sluice/shown_path.h>

#include "bench/advise/advice.h"
#include "bench/commands.h"
#include "bench/epoch/experiments.h"
#include "bench/epoch/run.h"
#include "bench/epoch/shared_options.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "reader/reading/memory.h"
#include "reader/transform/geometry.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/steps.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::ParseInteger;
using option_list::Option;
using option_list::Options;

constexpr const char* kAdviseDescription =
    "Says which form to train from on this machine, and what it costs.\n\n"
    "SOURCE is a folder of pictures, or a dataset. A sample of it is converted to every form (in a "
    "temporary folder, removed at the end) and played from memory through the loader. To measure "
    "the disk, advise reads the source's files for a second. If they are small, it also reads a "
    "file of 64 MiB in the scratch folder, because a dataset's files are large. From these "
    "measurements, advise predicts the size of the whole dataset, the time of its epochs, the "
    "threads and machines that feed the trainer, and whether the dataset fits in memory. A third "
    "of the sample is held out: from the rest, advise predicts what this third needs, and the "
    "column \"error\" shows by how much the measurement differs. PSNR compares pictures shrunk to "
    "a square of the crop's size with those of the source.\n\n"
    "If a dataset's pictures are larger than its crops need, advise also tries the size that it "
    "would give to pictures from a folder, and says what that saves.\n\n"
    "If you say what the trainer needs (--step-ms, --profile), advise looks for the forms from "
    "which one machine feeds the trainer. It takes the largest picture size that has such a form, "
    "and of these forms the one with the fewest bytes. Otherwise it takes the usual picture size, "
    "and of the forms that are at least three quarters as fast as the fastest, the one with the "
    "fewest bytes.\n\n"
    "With --link, advise also says what training from an object store takes: an epoch's time over "
    "that link, its requests and their price, and the time to the first batch. `sluice-bench io "
    "URL` measures a link.\n";

constexpr const char* kAdviseExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench advise photos/\n"
    "  sluice-bench advise photos/ --step-ms 120 --batch-size 256 --gpus 4\n"
    "  sluice-bench advise photos/ --link 1GB/s --link-delay 40ms --request-price 0.0004\n"
    "  sluice-bench advise data/photos --profile mlperf-resnet50-h100 --gpus 8 --json\n\n";

struct AdviseArguments {
  std::string source;
  Need need;
  std::optional<Profile> profile;
  std::optional<Pipeline> transform;
  std::string transform_text;
  std::vector<int> qualities = {90};
  FormTrialOptions trial;
  std::uint64_t seed = 0;
  bool follow_links = false;
  StoreLink link;
  ResultOptions output;
};

constexpr auto kTrialOptions = Options<FormTrialOptions>(
    "FormTrialOptions", "",
    Option("sample", &FormTrialOptions::pictures, "pictures to try the forms on",
           {.least = 1, .most = 10'000}),
    Option("seconds", &FormTrialOptions::seconds,
           "least time for measuring one form's rate, over all of its epochs, in seconds",
           {.most = 3600, .comparable = true, .value = "X"}),
    Option("scratch", &FormTrialOptions::scratch,
           "folder for the trials, best on the disk that the dataset is for (default: TMPDIR, or "
           "/tmp)",
           {.comparable = true, .value = "FOLDER"}));

std::vector<int> ParseQualities(const std::string& text) {
  std::vector<int> qualities;
  for (const std::string& quality : cli::Split(text))
    qualities.push_back(static_cast<int>(ParseInteger(quality, 1, 100)));
  return qualities;
}

// Chooses the transform, unless one was given: none if all pictures have one small size, else a
// random-resized-crop to 224. Then sets the transform and the side of the trials.
void ChooseTransform(AdviseArguments& arguments, const SourceFacts& facts) {
  constexpr std::uint32_t kSmall = 96;
  if (!arguments.transform) {
    const bool small = facts.uniform() && facts.most_width <= kSmall && facts.most_height <= kSmall;
    arguments.transform_text = small ? "none" : "rrc:224";
    arguments.transform = ParsePipeline(arguments.transform_text);
  }
  arguments.trial.transform = *arguments.transform;
  // Forms store pictures as large as the crops need. Without a fixed size, the pictures' own is a
  // guide.
  const auto extent = Geometry(*arguments.transform).FixedExtent();
  if (extent) {
    arguments.trial.side = std::max(extent->width, extent->height);
  } else {
    arguments.trial.side = std::min<std::uint32_t>(224, facts.median_width);
  }
}

Resources ResourcesHere(const AdviseArguments& arguments, const DiskRate& disk) {
  Resources resources;
  resources.threads = arguments.trial.threads;
  resources.memory_bytes = AvailableMemory();
  resources.disk_bytes_per_second = disk.bytes_per_second;
  // The free space is that of the disk that the dataset is for: the scratch folder's disk if one is
  // given, else the source's.
  const std::string& scratch = arguments.trial.scratch.native();
  struct statvfs file_system {};
  if (statvfs((scratch.empty() ? arguments.source : scratch).c_str(), &file_system) == 0)
    resources.disk_free_bytes = std::uint64_t{file_system.f_bavail} * file_system.f_frsize;
  if (arguments.link.bytes_per_second > 0) resources.link = arguments.link;
  return resources;
}

// Measures the disk by reading the source's own files. If they are too small to represent shards,
// also measures with a file in the scratch folder.
void MeasureDisk(const AdviseArguments& arguments, Advice& advice, const std::stop_token& stop) {
  constexpr double kSeconds = 1;
  constexpr std::uint64_t kLargeFile = 1'000'000;  // bytes; such files are read like shards
  const SourceFacts& facts = advice.facts;
  if (facts.dataset) {
    advice.disk = MeasureDiskRate(DatasetFiles(arguments.source), kSeconds, stop);
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& path : facts.paths)
    files.push_back(std::filesystem::path(arguments.source) / path);
  advice.disk = MeasureDiskRate(files, kSeconds, stop);
  if (facts.bytes / std::max<std::uint64_t>(1, facts.images) >= kLargeFile) return;
  advice.small_files = advice.disk;
  advice.disk = MeasureDiskRateIn(arguments.trial.scratch, kSeconds, stop);
}

// A value that equals the default may have been given, so the values alone do not tell.
bool Gives(const AdviseArguments& arguments, const char* option) {
  return arguments.output.app->count(option) > 0;
}

void Complete(AdviseArguments& arguments, const std::vector<std::string>& gpus) {
  if (arguments.profile) {
    if (!Gives(arguments, "--batch-size"))
      arguments.need.batch_size = arguments.profile->batch_size;
    if (arguments.need.step_seconds == 0)
      arguments.need.step_seconds = 1e-3 * arguments.profile->step_ms;
  }
  if (!Gives(arguments, "--gpus"))
    arguments.need.accelerators = std::max<std::size_t>(1, gpus.size());
}

Advice Advise(AdviseArguments& arguments, const StepHooks& hooks) {
  Advice advice;
  advice.source = ShownPath(arguments.source);
  advice.gpus = GpuNames();
  Complete(arguments, advice.gpus);
  advice.need = arguments.need;
  if (hooks.on_step) hooks.on_step("looking at the source", 0, 0);
  advice.facts = LookAtSource(arguments.source, {.follow_links = arguments.follow_links},
                              arguments.seed, hooks.stop);
  MeasureDisk(arguments, advice, hooks.stop);
  ChooseTransform(arguments, advice.facts);
  advice.transform = arguments.transform_text;
  arguments.trial.source = arguments.source;
  advice.resources = ResourcesHere(arguments, advice.disk);
  const LoadWatch others;
  advice.trials = TryForms(FormsFor(advice.facts, arguments.trial.side, arguments.qualities),
                           advice.facts, arguments.trial, hooks);
  WarnOfLoad(others.OtherCpus(), advice.warnings);
  if (advice.disk.in_memory) {
    advice.warnings.push_back(
        "the files read to measure the disk were in memory; give --scratch, a folder on the disk "
        "that the dataset is for");
  }
  Decide(advice);
  return advice;
}

void CheckNeed(const AdviseArguments& arguments) {
  if (arguments.need.step_seconds == 0 && !arguments.profile &&
      (Gives(arguments, "--batch-size") || Gives(arguments, "--gpus"))) {
    throw cli::UsageError(
        "--batch-size and --gpus need a step's time: give --step-ms or --profile");
  }
}

Answer AdviseAnswer(AdviseArguments& arguments, const std::stop_token& stop,
                    cli::Progress& progress) {
  const Advice advice = Advise(arguments, HooksOf(stop, progress));
  ThrowIfStopped(stop);
  return {TextOf(advice), JsonOf(advice), {}};
}

void AddOptions(CLI::App& app, AdviseArguments& arguments) {
  AddOption(app, "--step-ms", "X", "milliseconds that an accelerator needs for a batch",
            [&arguments](const std::string& text) {
              arguments.need.step_seconds = 1e-3 * cli::ParseNumber(text, 3'600'000);
            });
  AddOption(app, "--batch-size", "N", "samples in each accelerator's batch (default 256)",
            [&arguments](const std::string& text) {
              arguments.need.batch_size = ParseInteger(text, 1, 1'000'000);
            });
  AddOption(app, "--gpus", "N",
            "accelerators that train together (default: those found here, or 1)",
            [&arguments](const std::string& text) {
              arguments.need.accelerators = ParseInteger(text, 1, 1'000'000);
            });
  AddOption(
      app, "--profile", "NAME",
      "mlperf-resnet50-h100: batches of 400 and steps of 224 ms; retinanet-b200: 24 and 47.55 ms",
      [&arguments](const std::string& text) { arguments.profile = ProfileNamed(text); });
  AddOption(
      app, "--link", "RATE",
      "the dataset will lie in an object store, and each machine reads it over a link of this "
      "rate, such as 100MB/s",
      [&arguments](const std::string& text) {
        arguments.link.bytes_per_second = static_cast<double>(ParseRate(text));
      });
  AddOption(app, "--link-delay", "TIME",
            "with --link: the time from a request to its first byte, such as 50ms",
            [&arguments](const std::string& text) {
              arguments.link.delay_seconds =
                  std::chrono::duration<double>(ParseDelay(text)).count();
            });
  AddOption(app, "--link-cache", "BYTES", "with --link: the size of a cache on each machine's disk",
            [&arguments](const std::string& text) {
              arguments.link.cache_bytes = cli::ParseBytes(text);
            });
  AddOption(app, "--request-price", "X", "with --link: the price of 1000 requests, in any currency",
            [&arguments](const std::string& text) {
              arguments.link.price_of_1000 = cli::ParseNumber(text, 1e9);
            });
  AddOption(
      app, "--transform", "STEPS",
      cli::TransformHelp() + " (default: rrc:224; none if all pictures are small and of one size)",
      [&arguments](const std::string& text) {
        arguments.transform = ParsePipeline(text);
        arguments.transform_text = text;
      });
  AddOption(app, "--quality", "Q[,Q...]",
            "qualities of the JPEGs to make, the preferred one first (default 90)",
            [&arguments](const std::string& text) { arguments.qualities = ParseQualities(text); });
  cli::AddDeclared(app, arguments.trial, kTrialOptions);
  cli::AddThreads(app, arguments.trial.threads, "decoding threads");
  cli::AddDeclared(
      app, arguments,
      Option("seed", &AdviseArguments::seed, "seed of the sample", {.comparable = true}));
  app.add_flag("--follow-links", arguments.follow_links,
               "also follow symbolic links that lead out of SOURCE, as `sluice convert` does");
  cli::MarkMayDiffer(app, {"--request-price"});
  for (const char* const option : {"--link-delay", "--link-cache", "--request-price"})
    app.get_option(option)->needs("--link");
}

}  // namespace

cli::Command AddAdviseCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("advise", kAdviseDescription);
  const auto arguments = std::make_shared<AdviseArguments>();
  arguments->trial.threads = AvailableCpus();
  cli::AddArgument(*app, "SOURCE", arguments->source, "folder of pictures, or a dataset");
  AddOptions(*app, *arguments);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kAdviseExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            CheckNeed(*arguments);
            return RunMeasuring(arguments->output, "looking",
                                "trying forms of " + cli::Printable(ShownPath(arguments->source)),
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  return AdviseAnswer(*arguments, stop, progress);
                                });
          }};
}

}  // namespace sluice::bench
