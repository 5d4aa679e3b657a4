// The command line of `sluice-bench epoch`: parses the options, chooses defaults, and runs the
// epochs (run.h) or one of the experiments (experiments.h).
//
// Complete() is where the options meet the dataset: defaults that depend on it are set there, and
// combinations that would measure something other than they say are refused. It opens the dataset
// for that, and the first loader takes over what was opened, unless --cold is given.
//
// An answer is text, JSON and bars of a trace at once: the code of all commands (report/result.h)
// prints them, writes them to files or shows them as a page.
#include <algorithm>
#include <functional>
#include <memory>
#include <regex>
#include <utility>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/parse_pipeline.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/epoch/experiments.h"
#include "bench/epoch/report.h"
#include "bench/epoch/run.h"
#include "bench/epoch/shared_options.h"
#include "bench/epoch/storage_options.h"
#include "bench/epoch/trace.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "format/ascii.h"
#include "format/remote/object_store.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/steps.h"

namespace sluice::bench {
namespace {

using cli::AddChoice;
using cli::AddOption;
using cli::ParseInteger;
using option_list::Option;
using option_list::Options;

constexpr const char* kEpochDescription =
    "Plays epochs and shows what they cost, and why.\n\n"
    "Plays epochs of the dataset and prints for each: seconds; images per second; megabytes\n"
    "of payload read per second; the share of the time that the consumer waited for a batch;\n"
    "CPU seconds of the whole process per 1000 images; and the process's peak memory, mapped\n"
    "files included. The time to the first batch counts from the process's start. The medians\n"
    "follow, then the time of each stage, with that of each step of the transform, and what\n"
    "holds the epoch back.\n\n"
    "With a pretend training (--step-ms, --profile), it also prints the share of the time\n"
    "that the accelerator computed, and the times of training alone, of loading alone and of\n"
    "both together; in an ideal pipeline, the last is the larger of the first two. Several\n"
    "counts of --threads give a curve, and the share of the work that does not run in\n"
    "parallel. --find-accelerators finds how many accelerators the loader can feed.\n"
    "\n"
    "--with plays several datasets as one, by their --weights or each sample once.\n";

constexpr const char* kEpochExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench epoch data/photos --batch-size 256 --transform rrc:224,flip\n"
    "  sluice-bench epoch data/photos --transform short:256,center:224 --shuffle sequential\n"
    "  sluice-bench epoch data/photos --step-ms 50        a trainer that takes 50 ms a batch\n"
    "  sluice-bench epoch data/photos --threads 1,2,4     a curve\n"
    "  sluice-bench epoch data/photos --profile mlperf-resnet50-h100 --find-accelerators\n"
    "  sluice-bench epoch data/photos --with data/art --weights 0.7,0.3\n"
    "  sluice-bench epoch data/raw64 --floor --json\n\n";

struct EpochArguments {
  EpochOptions options;
  std::vector<unsigned> threads;
  StorageArguments storage;
  std::optional<Profile> profile;
  bool find_accelerators = false;
  ResultOptions output;
  std::string trace_file;
  std::string dataset;
  std::optional<std::pair<AnnotationFormat, std::string>> label_files;
  std::optional<Dataset> opened;  // the dataset, which Complete() has opened, for the first loader
  std::optional<Pipeline> transform;
  std::string transform_text;
};

// Parses "1,2,4". A single 0 means that the consumer's thread decodes.
std::vector<unsigned> ParseThreads(const std::string& text) {
  std::vector<unsigned> counts;
  const std::vector<std::string> items = cli::Split(text);
  for (const std::string& count : items)
    counts.push_back(static_cast<unsigned>(ParseInteger(count, items.size() == 1 ? 0 : 1, 1024)));
  return counts;
}

void AddLabelFiles(CLI::App& app, EpochArguments& arguments) {
  std::vector<CLI::Option*> ways;
  for (const option_list::Word<AnnotationFormat>& word :
       option_list::WordsOf<AnnotationFormat>.words) {
    const std::string flag = std::string("--") + word.text;
    ways.push_back(AddOption(app, flag, "PATH",
                             "play DATASET, a folder of images, without a conversion, with the "
                             "labels that sluice convert " +
                                 flag + " takes: " + word.help,
                             [&arguments, format = word.value](const std::string& path) {
                               arguments.label_files.emplace(format, path);
                             }));
  }
  // Each names the labels of the whole DATASET, so two would contradict each other.
  for (CLI::Option* const one : ways) {
    for (CLI::Option* const other : ways)
      if (one != other) one->excludes(other);
  }
}

void AddDatasetOptions(CLI::App& app, EpochArguments& arguments) {
  AddLabelFiles(app, arguments);
  AddOption(app, "--index", "FILE",
            "for a DATASET that is played without a conversion: keep the list of its samples in "
            "FILE. If FILE exists, the list is read from it, and the folder is not searched",
            [&arguments](const std::string& file) { arguments.options.index = file; });
  AddOption(app, "--compile-to", "DATASET2",
            "compile a DATASET that is played without a conversion into this folder meanwhile, as "
            "sluice convert would, and play what is finished",
            [&arguments](const std::string& folder) { arguments.options.compile_to = folder; });
  app.add_option_function<std::vector<std::string>>(
         "--with",
         [&arguments](const std::vector<std::string>& folders) {
           arguments.options.with.assign(folders.begin(), folders.end());
         },
         "a further dataset, to be played with DATASET as one; may be given several times")
      ->allow_extra_args(false)
      ->type_name("DATASET2");
  AddOption(
      app, "--weights", "W,W[,W...]",
      "the share of each dataset; an epoch then ends when each sample of DATASET has come once. "
      "Default: each sample of every dataset once",
      [&arguments](const std::string& text) {
        arguments.options.weights.clear();
        for (const std::string& weight : cli::Split(text))
          arguments.options.weights.push_back(cli::ParseNumber(weight, 1e9));
      });
}

void AddView(const std::string& text, EpochOptions& options) {
  std::vector<View>& views = options.loader.views;
  try {
    views.push_back({"view " + std::to_string(views.size() + 2), ParsePipeline(text), {}});
  } catch (const Error& error) {
    // The Error alone does not say which of several --view it is about.
    throw cli::UsageError("--view: " + error.sentence());
  }
  options.view_texts.push_back(text);
}

void AddLoaderOptions(CLI::App& app, EpochArguments& arguments) {
  LoaderOptions& loader = arguments.options.loader;
  AddOption(app, "--threads", "N[,N...]",
            "decoding threads (default: one for each CPU). With 0, the thread that asks for "
            "batches decodes. Several counts are measured in turn, and give a curve",
            [&arguments](const std::string& text) { arguments.threads = ParseThreads(text); });
  AddOption(app, "--prefetch", "N",
            "batches decoded ahead; with 0, the default, the loader chooses",
            [&loader](const std::string& text) {
              loader.ring.prefetch = ParseInteger(text, 0, 1024);
              if (*loader.ring.prefetch == 0) loader.ring.prefetch.reset();
            });
  AddOption(app, "--transform", "STEPS",
            cli::TransformHelp() +
                ". "
                "Default: none if all images have one size, else "
                "rrc:224",
            [&arguments](const std::string& text) {
              arguments.transform = ParsePipeline(text);
              arguments.transform_text = text;
            });
  AddOption(app, "--sizes", "S[,S@EPOCH...]",
            "the transform's output size by epoch, such as "
            "160,192@16, instead of its own size",
            [&arguments](const std::string& text) {
              arguments.options.loader.sizes = ParseSizes(text);
              arguments.options.sizes_text = text;
            });
  app.add_option_function<std::vector<std::string>>(
         "--view",
         [&arguments](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             AddView(text, arguments.options);
         },
         "the steps of a further view of each image, as for --transform; may be given several "
         "times")
      ->allow_extra_args(false)
      ->type_name("STEPS");
  ForEachSetting(loader,
                 [&app](auto& group, auto member) { cli::AddDeclared(app, group, member); });
  AddOption(app, "--device", "D",
            "where batches are delivered: host (default), or cuda:N "
            "for GPU number N",
            [&loader](const std::string& text) {
              const bool cuda = text.rfind("cuda:", 0) == 0;
              if (!cuda && text != "host") throw cli::UsageError("must be host or cuda:N");
              loader.device =
                  cuda ? Device::Cuda(static_cast<int>(ParseInteger(text.substr(5), 0, 1023)))
                       : Device();
            });
  AddChoice(app, "--device-steps", "WHERE",
            "where steps that change pixels run: device (default, if "
            "they can), or host",
            loader.on_device.steps, {{"device", true}, {"host", false}});
  AddStorageOptions(app, arguments.storage);
  AddStoreOptions(app, arguments.options.link);
}

void AddTrainingOptions(CLI::App& app, EpochArguments& arguments) {
  EpochOptions& options = arguments.options;
  cli::AddDeclared(app, options.step, kStepSettings);
  AddOption(
      app, "--pretend-decode", "US[,TIMES]",
      "delay each sample by US microseconds, in which its thread sleeps, and 1 in 100 by TIMES "
      "as much: shows what many threads or slow samples cost, on few CPUs",
      [&options](const std::string& text) {
        const std::vector<std::string> parts = cli::Split(text);
        if (parts.size() > 2) throw cli::UsageError("must be US or US,TIMES");
        options.pretend.microseconds = cli::ParseNumber(parts[0], 1e6);
        if (parts.size() == 2) options.pretend.slow = cli::ParseNumber(parts[1], 1e4);
      });
  AddOption(app, "--profile", "NAME",
            "one of MLPerf Storage's trainings: mlperf-resnet50-h100 (batches of "
            "400, steps of 224 ms, which must take 90% of the time) or "
            "retinanet-b200 (24, 47.55 ms, 85%)",
            [&arguments](const std::string& text) { arguments.profile = ProfileNamed(text); });
  CLI::Option* const search = app.add_flag(
      "--find-accelerators", arguments.find_accelerators,
      "find the largest number of accelerators that compute for 90% of the time or more (or for "
      "the share that --profile gives); it chooses the numbers of epochs and batches itself");
  // --find-accelerators chooses these itself, or does not measure them.
  for (const char* const option : {"--accelerators", "--epochs", "--warm-up", "--repeat",
                                   "--batches", "--also-cold", "--floor", "--stops", "--trace"})
    search->excludes(option);
}

// Options that say how much to measure. Results that differ in them can still be compared, except
// in the warm-up.
constexpr auto kEpochLengths = Options<EpochOptions>(
    "EpochOptions", "",
    Option("epochs", &EpochOptions::epochs, "epochs to measure",
           {.least = 1, .most = 1e6, .comparable = true}),
    Option("warm_up", &EpochOptions::warm_up,
           "epochs played before the measured ones; none with --cold", {.most = 1e6}),
    Option("also_cold", &EpochOptions::also_cold,
           "after the measured epochs, play N with a cold cache, to compare",
           {.most = 1e6, .comparable = true}),
    Option("floor", &EpochOptions::floor,
           "afterwards, measure a loop that only decodes the same images (copies raw ones) on as "
           "many threads",
           {.comparable = true}),
    Option("stops", &EpochOptions::stops,
           "afterwards, drop N loaders in the middle of an epoch and time how long they take to "
           "stop",
           {.most = 100'000, .comparable = true}));

void AddMeasuringOptions(CLI::App& app, EpochArguments& arguments) {
  cli::AddDeclared(app, arguments.options, kEpochLengths);
  cli::AddDeclared(app, arguments.options, kEpochSettings);
  app.get_option("--cold")->excludes("--warm-up")->excludes("--also-cold");
  cli::AddDeclared(
      app, arguments,
      Option("trace", &EpochArguments::trace_file,
             "write what every thread did in the last measured epoch, for chrome://tracing or "
             "ui.perfetto.dev",
             {.comparable = true, .value = "FILE"}));
  AddTrainingOptions(app, arguments);
  AddPageOption(app, arguments.output);
  AddResultOptions(app, arguments.output);
}

// Sets defaults that depend on other options or on the dataset.
void Complete(EpochArguments& arguments, const std::stop_token& stop) {
  EpochOptions& options = arguments.options;
  options.dataset = arguments.dataset;
  // A warm-up would fill the cache that --cold has emptied.
  if (options.cold) options.warm_up = 0;
  if (arguments.threads.size() == 1) options.loader.threads = arguments.threads.front();
  if (arguments.profile) {
    // A profile gives defaults: an option that was given wins.
    if (arguments.output.app->count("--batch-size") == 0)
      options.loader.batch_size = arguments.profile->batch_size;
    if (options.step.milliseconds == 0) options.step.milliseconds = arguments.profile->step_ms;
  }
  if (options.step.milliseconds == 0 &&
      (options.step.busy || arguments.find_accelerators || options.batches_per_step > 1)) {
    throw cli::UsageError(
        "--step-busy, --accelerators and --find-accelerators need a training step: --step-ms or "
        "--profile");
  }
  if (options.pretend.microseconds > 0) {
    if (options.floor)
      throw cli::UsageError("--floor only decodes or copies: leave out --pretend-decode");
    options.loader.sample_function = Decoding(options.pretend);
  }
  if (options.floor && IsStoreUrl(options.dataset.string())) {
    throw cli::UsageError(
        "--floor needs the dataset on this machine: bring it with sluice copy URL DATASET");
  }
  if (arguments.label_files) {
    options.source = ConvertSource::Annotated(arguments.label_files->first,
                                              arguments.label_files->second, options.dataset);
  } else {
    options.source = FindSource(options.dataset, stop);
  }
  const bool source = options.source.has_value();
  for (const auto& [name, given] : {std::pair("--index", !options.index.empty()),
                                    std::pair("--compile-to", !options.compile_to.empty())}) {
    if (!given || source || !std::filesystem::exists(options.dataset)) continue;
    throw cli::UsageError(std::string(name) +
                          " is for a source that is played without a conversion, and " +
                          ShownPath(options.dataset.string()) + " is a dataset");
  }
  if (source && (options.floor || options.cold || options.also_cold > 0 || options.link ||
                 !options.with.empty())) {
    throw cli::UsageError(
        "--floor, --cold, --also-cold, --with and simulated stores need a dataset, and " +
        ShownPath(options.dataset.string()) + " is played without a conversion");
  }
  const LoaderOptions& loader = options.loader;
  if (!options.weights.empty() && options.weights.size() != 1 + options.with.size())
    throw cli::UsageError("--weights needs one weight for DATASET and one for each --with");
  if (!options.with.empty() && (options.floor || options.repeat > 1))
    throw cli::UsageError("--floor and --repeat are for one dataset: leave out --with");
  if (options.floor && (loader.threads == 0U || loader.output.image_sizes != ImageSizes::kEqual))
    throw cli::UsageError(
        "--floor is a loop of threads over images of one size: leave out "
        "--threads 0 and --image-sizes");
  if (options.floor && (!loader.views.empty() || !loader.sizes.empty())) {
    throw cli::UsageError("--floor measures one view and one size: leave out --view and --sizes");
  }
  if (arguments.threads.size() > 1 &&
      (arguments.find_accelerators || !arguments.trace_file.empty() || options.floor ||
       options.also_cold > 0 || options.stops > 0)) {
    throw cli::UsageError(
        "--find-accelerators, --trace, --floor, --also-cold and --stops need a single number in "
        "--threads");
  }
  // During a step, the loader decodes the batches of the next step.
  std::optional<std::size_t>& prefetch = options.loader.ring.prefetch;
  if (prefetch || options.batches_per_step > 1) {
    prefetch = std::max<std::size_t>(prefetch.value_or(0), options.batches_per_step);
  }
  // Opened after all checks of the options, because opening a source may list many files.
  std::vector<Dataset> datasets = OpenPlayed(options, stop);
  const Dataset& dataset = datasets.front();
  if (dataset.size() == 0)
    throw Error(ErrorCode::kNotFound, ShownPath(options.dataset.string()),
                "has no samples to play");
  if (!arguments.transform) {
    arguments.transform = DefaultTransform(datasets, loader.output.image_sizes);
    arguments.transform_text = arguments.transform->empty() ? "none" : "rrc:224";
  }
  options.loader.transform = *arguments.transform;
  ApplyStorage(arguments.storage, dataset, options.loader);
  if (!options.cold) arguments.opened = std::move(datasets.front());
}

std::string ProgressTitle(const EpochOptions& options, std::uint64_t epoch) {
  if (epoch < options.warm_up) return "warming up";
  if (epoch >= options.warm_up + options.epochs) return "cold epoch";
  return "epoch " + std::to_string(epoch - options.warm_up + 1) + " of " +
         std::to_string(options.epochs);
}

Answer PlayCurve(const EpochArguments& arguments, const EpochHooks& hooks) {
  const LoadWatch others;
  const ThreadCurve curve = MeasureThreadCurve(arguments.options, arguments.threads, hooks);
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  return {TextOf(curve) + WarningsText(warnings),
          JsonOf(curve, arguments.options, arguments.transform_text, warnings),
          {}};
}

Answer PlayAccelerators(const EpochArguments& arguments, const EpochHooks& hooks,
                        cli::Progress& progress) {
  constexpr double kWantedUsually = 0.9;
  const double wanted = arguments.profile ? arguments.profile->utilisation : kWantedUsually;
  const std::string profile = arguments.profile ? arguments.profile->name : "";
  const LoadWatch others;
  AcceleratorTable table(wanted);
  const AcceleratorSearch search =
      FindAccelerators(arguments.options, wanted, hooks, [&](const AcceleratorTrial& trial) {
        progress.Erase();
        if (!arguments.output.json) cli::PrintOut(table.Row(trial));
      });
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  return {TextOf(search, arguments.options, profile) + WarningsText(warnings),
          JsonOf(search, arguments.options, arguments.transform_text, profile, warnings),
          {}};
}

Answer PlayEpochs(EpochArguments& arguments, EpochHooks hooks, cli::Progress& progress) {
  EpochOptions options = arguments.options;
  const bool traced = !arguments.trace_file.empty() || !arguments.output.html_file.empty();
  EpochTrace trace(options.warm_up + options.epochs - 1, traced);
  options.loader.diagnostics.trace = trace.recorder();
  if (traced) hooks.on_span = [&](const ConsumerSpan& span) { trace.OnSpan(span); };
  EpochTable table(options);
  hooks.on_epoch = [&](const EpochFigures& figures) {
    progress.Erase();
    trace.Collect();
    if (!arguments.output.json) table.PrintRow(figures);
    if (figures.cold && figures.left_in_cache_bytes > 0) WarnLeftInCache(figures);
  };
  const std::optional<Dataset> played = options.source ? arguments.opened : std::nullopt;
  EpochsRun run = RunEpochs(options, hooks, std::exchange(arguments.opened, std::nullopt));
  EpochReport report{options, arguments.transform_text, std::move(run), {}, 0, {}, {}, {}, {}};
  progress.Erase();
  trace.Collect();
  // The measurements from here on must not add spans to the trace.
  options.loader.diagnostics.trace.reset();
  if (options.stops > 0) report.stop_seconds = MeasureStops(options, options.stops, hooks.stop);
  report.stages = StagesOf(options, report.run, hooks.stop);
  report.warnings = WarningsOf(options, report.run);
  if (played) {
    report.conversion = MeasureConversion(options, *played, hooks.stop);
  }
  if (arguments.profile) report.wanted_utilisation = arguments.profile->utilisation;
  if (options.step.milliseconds > 0) {
    report.pipeline = MeasurePipelineCost(options, report.run, hooks.stop);
  }
  const std::vector<TraceBar> bars = traced ? BarsOf(trace) : std::vector<TraceBar>();
  if (!arguments.trace_file.empty()) WriteTraceFile(arguments.trace_file, bars);
  return {TextOf(report), JsonOf(report), bars};
}

// A word of an enumeration for its enumerator in C++: "quasi_random" for "Shuffle::kQuasiRandom".
std::string InWords(const std::string& sentence, const std::vector<std::string>& words) {
  static const std::regex kEnumerator(R"(\b(\w+::)?k([A-Z]\w*))");
  std::string text;
  std::smatch found;
  for (std::string rest = sentence;; rest = found.suffix().str()) {
    if (!std::regex_search(rest, found, kEnumerator)) return text + rest;
    const auto word = std::ranges::find_if(words, [&](std::string letters) {
      std::erase(letters, '_');
      return letters == LowerCase(found.str(2));
    });
    text += found.prefix().str() + (word == words.end() ? found.str() : *word);
  }
}

// Returns a loader's error with this command's flags and words in place of the names in C++.
Error InFlags(const Error& error, const CLI::App& app) {
  std::string sentence = error.sentence();
  std::vector<std::string> words;
  const auto replace = [&](const std::string& path, const std::string& flag) {
    if (app.get_option_no_throw(flag) == nullptr) return;
    // After the first of several options, a path with a dot also stands without the struct.
    const std::string name = std::regex_replace(path, std::regex("[.]"), "[.]");
    const std::string full = "\\b(LoaderOptions::)" + std::string(name == path ? "" : "?") + name;
    sentence = std::regex_replace(sentence, std::regex(full + " = "), flag + " ");
    sentence = std::regex_replace(sentence, std::regex(full + "\\b"), flag);
  };
  const LoaderOptions usual;
  option_list::ForEachOption(usual,
                             [&]<class V>(const auto& option, const V&, const std::string& path) {
                               replace(path, cli::FlagOf(option.name, option.facts));
                               if constexpr (option_list::HasWords<V>)
                                 for (const auto& word : option_list::WordsOf<V>.words)
                                   words.emplace_back(word.text);
                             });
  for (const auto& [group, flag] :
       {std::pair("keep", "--cache"), std::pair("stage", "--stage"), std::pair("share", "--share")})
    replace(group, flag);
  sentence = InWords(sentence, words);
  constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {", or set LoaderOptions::ranks.rank and world_size (1 for a process that trains alone)", ""},
      {"LoaderOptions::storage = Direct and Locked", "--direct and --cache locked"},
      {"LoaderOptions::storage = Direct", "--direct"},
      {"LoaderOptions::storage = Locked", "--cache locked"},
      {"leave storage as Mapped", "leave these out"},
      {"ReadLimits::max_pixels", "--max-pixels"},
      {"--max-pixels (--max-pixels)", "--max-pixels"},
      {"ReadLimits::max_value_bytes (--max-value-bytes)", "--max-value-bytes"},
      {"Device::Cuda()", "cuda:N"}};
  for (const auto& [name, here] : kOthers)
    if (const std::size_t at = sentence.find(name); at != std::string::npos)
      sentence.replace(at, name.size(), here);
  if (sentence.find("LoaderOptions::") != std::string::npos)
    sentence += " (an option of the loader in C++ and Python; this command does not have it)";
  return {error.code(), error.file(), error.place(), sentence};
}

Answer EpochAnswer(EpochArguments& arguments, const std::stop_token& stop,
                   cli::Progress& progress) {
  EpochHooks hooks;
  hooks.stop = stop;
  hooks.on_batch = [&](std::uint64_t epoch, std::uint64_t images, std::uint64_t images_in_all) {
    progress.SetActivity(ProgressTitle(arguments.options, epoch));
    progress.Update(images, images_in_all);
  };
  if (arguments.find_accelerators) return PlayAccelerators(arguments, hooks, progress);
  if (arguments.threads.size() > 1) return PlayCurve(arguments, hooks);
  return PlayEpochs(arguments, hooks, progress);
}

}  // namespace

cli::Command AddEpochCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("epoch", kEpochDescription);
  const auto arguments = std::make_shared<EpochArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset,
                   "folder or URL of the dataset; or a folder of images, a table (.csv, .tsv, "
                   ".jsonl) or an archive, which is played without a conversion");
  AddDatasetOptions(*app, *arguments);
  AddLoaderOptions(*app, *arguments);
  cli::AddDeclared(*app, arguments->options.limits, &ReadLimits::max_pixels);
  cli::AddDeclared(*app, arguments->options.limits, &ReadLimits::max_value_bytes);
  AddMeasuringOptions(*app, *arguments);
  app->footer(std::string(kEpochExamples) + cli::kExitCodeHelp);
  return {app, [app, arguments] {
            CheckWritable(arguments->trace_file);
            return RunMeasuring(arguments->output, "playing",
                                "playing " + cli::Printable(ShownPath(arguments->dataset)),
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  try {
                                    Complete(*arguments, stop);
                                    return EpochAnswer(*arguments, stop, progress);
                                  } catch (const Error& error) {
                                    throw InFlags(error, *app);
                                  }
                                });
          }};
}

}  // namespace sluice::bench
