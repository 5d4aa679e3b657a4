// `sluice-bench convert`: how fast a folder of pictures is converted, and which stage takes the
// time.
//
// Whole conversions are timed alternately with FFCV's writer, so that both meet the same load of
// the machine. In a whole conversion, the stages overlap across threads, so they are measured
// separately afterwards: on one thread, sample by sample, through the encoder's own hooks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/convert_option_list.h>
#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/compare/contender.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "writer/convert/sample_encoder.h"
#include "writer/source/open_source.h"

namespace sluice::bench {

namespace {

using option_list::Option;
using option_list::Options;

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// CPU milliseconds that an image takes on one thread.
struct ConvertStages {
  std::uint64_t images = 0;  // images measured
  double read = 0;
  double decode = 0;  // including resizing: a JPEG's planes are resized while they are decoded
  double encode = 0;  // or, if coefficients are kept, rewriting them
};

struct ConvertBenchOptions {
  std::filesystem::path source;  // a folder of pictures
  std::filesystem::path work =
      "sluice-convert";         // output goes into a folder in it, which is removed at the end
  std::filesystem::path peers;  // the folder that bench/peers/setup.sh made; empty: none
  ConvertOptions convert;
  std::uint64_t rounds = 5;
  std::uint64_t stage_images = 200;   // images to measure the stages with
  std::uint64_t limit_seconds = 600;  // after which a child process is killed
};

// The turns of one writer.
struct WriterTurns {
  std::string name;
  std::string about;    // its version and settings
  std::string missing;  // why it did not run; empty: it did
  std::vector<double> images_per_second;
  std::vector<double> cpu_milliseconds;  // per image, children included
  std::uint64_t bytes = 0;               // size of its output
};

struct ConvertMeasured {
  std::vector<WriterTurns> writers;  // sluice, then ffcv
  std::uint64_t images = 0;          // images that a turn converts
  std::uint64_t left_out = 0;        // sources that sluice left out
  unsigned threads = 0;
  ConvertStages stages;
  double ratio = 0;  // median over rounds of sluice's images/s divided by ffcv's; 0: no ffcv
};

// Measures up to `most` images, spread evenly over the source. Skips images that cannot be
// converted. Keeping coefficients counts as encoding.
ConvertStages MeasureConvertStages(const ConvertSource& source, const ConvertOptions& options,
                                   std::uint64_t most, const std::stop_token& stop) {
  const SourceList sources = OpenSource(source, AvailableCpus(), {.on_progress = {}, .stop = stop});
  const Schema schema = sources.MakeSchema();
  const std::uint64_t count = std::min<std::uint64_t>(most, sources.sources.size());
  ConvertStages all, one;
  double last = 0;
  SampleEncoder encoder(sources, options, schema, 0, 0);
  // Called at the end of each stage, so the time since the last call belongs to that stage.
  encoder.images.on_step = [&](EncodeStep step) {
    const double now = 1e3 * ThreadCpuSeconds();
    (step == EncodeStep::kRead      ? one.read
     : step == EncodeStep::kDecoded ? one.decode
                                    : one.encode) += now - last;
    last = now;
  };
  for (std::uint64_t i = 0; i < count && !stop.stop_requested(); ++i) {
    one = {};
    last = 1e3 * ThreadCpuSeconds();
    const Outcome outcome = encoder.Encode(i * sources.sources.size() / count);
    if (!outcome.reason.empty()) continue;  // the conversion itself reports the reason
    ++all.images;
    all.read += one.read;
    all.decode += one.decode;
    all.encode += one.encode;
  }
  for (double* const part : {&all.read, &all.decode, &all.encode})
    *part /= static_cast<double>(std::max<std::uint64_t>(all.images, 1));
  return all;
}

// The folder that the user named, and in it a folder for everything that is written. The destructor
// removes the named folder, unless it existed before or holds something else.
class WorkFolder {
 public:
  explicit WorkFolder(fs::path path)
      : path_(std::move(path)), own_(fs::create_directories(path_)), scratch_(path_) {}
  ~WorkFolder() {
    std::error_code ignored;
    scratch_.reset();
    if (own_) fs::remove(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const noexcept { return scratch_->path(); }

 private:
  fs::path path_;
  bool own_;  // whether this object created path_
  std::optional<ScratchFolder> scratch_;
};

class Turns {
 public:
  Turns(const ConvertBenchOptions& options, const StepHooks& hooks)
      : options_(options), hooks_(hooks) {
    measured_.threads = options.convert.run.threads;
    measured_.writers.resize(2);
    measured_.writers[0].name = "sluice";
    measured_.writers[1].name = "ffcv";
    FindFfcv();
  }

  ConvertMeasured Run() {
    const std::uint64_t steps = 2 * options_.rounds + 1;
    for (std::uint64_t round = 0; round < options_.rounds; ++round) {
      for (std::uint64_t turn = 0; turn < 2; ++turn) {
        // The first of a round finds the sources in a colder cache, so the order changes with the
        // round.
        const bool sluice = (turn + round) % 2 == 0;
        Step(sluice ? "sluice" : "ffcv", round * 2 + turn, steps);
        if (sluice) {
          ConvertOnce();
          // Sluice is first in round 0, so the list is there when FFCV's writer needs it.
          if (round == 0) ListPaths();
        } else {
          WriteByFfcv();
        }
      }
    }
    Step("stages", steps - 1, steps);
    measured_.stages = MeasureConvertStages(ConvertSource(options_.source), options_.convert,
                                            options_.stage_images, hooks_.stop);
    ThrowIfStopped(hooks_.stop);
    Finish();
    return std::move(measured_);
  }

 private:
  void Step(const char* writer, std::uint64_t done, std::uint64_t all) {
    ThrowIfStopped(hooks_.stop);
    if (hooks_.on_step) hooks_.on_step(writer, done, all);
  }

  void FindFfcv() {
    WriterTurns& ffcv = measured_.writers[1];
    const fs::path python = options_.peers / "ffcv" / "bin" / "python";
    const fs::path script = options_.peers / "convert_ffcv.py";
    if (options_.peers.empty()) {
      ffcv.missing = "not asked for: give --peers, the folder that bench/peers/setup.sh made";
    } else if (!fs::exists(python) || !fs::exists(script)) {
      ffcv.missing = "not in " + options_.peers.string() + "; bench/peers/setup.sh installs it";
    }
    contender_ = {"ffcv", {python.string(), script.string()}, true, ffcv.missing};
  }

  void ConvertOnce() {
    WriterTurns& turns = measured_.writers[0];
    const fs::path data = options_.work / "sluice";
    fs::remove_all(data);
    ConvertHooks hooks;
    hooks.stop = hooks_.stop;
    const double cpu = CpuSeconds();
    const Clock::time_point begin = Clock::now();
    const ConvertSummary summary =
        Convert(ConvertSource(options_.source), data, options_.convert, hooks);
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    const auto images = static_cast<double>(summary.samples);
    turns.images_per_second.push_back(images / seconds.count());
    turns.cpu_milliseconds.push_back(1e3 * (CpuSeconds() - cpu) / images);
    turns.bytes = summary.bytes_out;
    measured_.images = summary.samples;
    measured_.left_out = summary.skipped.size();
    left_out_ = summary.skipped;
  }

  // Lists the sources that sluice converted: FFCV's writer does not survive a broken one.
  void ListPaths() {
    const SourceList sources = OpenSource(ConvertSource(options_.source), AvailableCpus(),
                                          {.on_progress = {}, .stop = hooks_.stop});
    std::set<std::string> without;
    for (const LeftOut& one : left_out_)
      without.insert(one.path);
    std::string text;
    for (const Source& source : sources.sources) {
      if (without.contains(source.key)) continue;
      if (source.key.find('\n') != std::string::npos) {
        contender_.missing = "a file's name has a line break in it; rename it";
      }
      text += fs::absolute(options_.source / source.key).string() + "\n";
    }
    WriteTextFile(options_.work / "paths.txt", text);
  }

  void WriteByFfcv() {
    WriterTurns& turns = measured_.writers[1];
    if (!contender_.missing.empty()) {
      turns.missing = contender_.missing;
      return;
    }
    const fs::path file = options_.work / "samples.beton";
    fs::remove(file);
    const std::vector<std::string> arguments = {
        (options_.work / "paths.txt").string(), file.string(),
        std::to_string(options_.convert.run.threads),
        std::to_string(options_.convert.geometry.max_side.value_or(0)),
        std::to_string(options_.convert.form.quality)};
    const ContenderRun run =
        RunContender(contender_, arguments, options_.work / "ffcv.log",
                     std::chrono::seconds(options_.limit_seconds), hooks_.stop);
    ThrowIfStopped(hooks_.stop);
    if (!run.error.empty()) {
      contender_.missing = turns.missing = run.error;
      return;
    }
    turns.about = run.about;
    turns.images_per_second.push_back(run.images_per_second);
    // Seconds for 1000 images are as many milliseconds for one.
    turns.cpu_milliseconds.push_back(run.cpu_seconds_per_1000);
    turns.bytes = fs::file_size(file);
  }

  void Finish() {
    const WriterTurns& sluice = measured_.writers[0];
    const WriterTurns& ffcv = measured_.writers[1];
    // Each has one value for each round; FFCV has none from the round on in which it failed.
    std::vector<double> ratios;
    for (std::size_t round = 0;
         round < std::min(sluice.images_per_second.size(), ffcv.images_per_second.size());
         ++round) {
      ratios.push_back(sluice.images_per_second[round] / ffcv.images_per_second[round]);
    }
    measured_.ratio = Median(ratios);
  }

  const ConvertBenchOptions& options_;
  const StepHooks& hooks_;
  ConvertMeasured measured_;
  Contender contender_;
  std::vector<LeftOut> left_out_;
};

// In each round, converts the source and lets FFCV write the same pictures with as many workers.
// Which of the two is first changes with the round. Throws Interrupted, and Error.
ConvertMeasured MeasureConversion(ConvertBenchOptions options, const StepHooks& hooks) {
  if (options.convert.run.threads == 0) options.convert.run.threads = AvailableCpus();
  const WorkFolder folder(options.work);
  options.work = folder.path();
  return Turns(options, hooks).Run();
}

struct ConvertPart {
  const char* name;
  double milliseconds;
};

// The CPU time of an image in a conversion, by part. The last part is what the stages do not
// account for: planning, checksums, writing.
std::vector<ConvertPart> PartsOf(const ConvertMeasured& measured) {
  const ConvertStages& stages = measured.stages;
  const double all = Median(measured.writers[0].cpu_milliseconds);
  const double known = stages.read + stages.decode + stages.encode;
  return {{"read", stages.read},
          {"decode and resize", stages.decode},
          {"encode", stages.encode},
          {"write and the rest", std::max(0.0, all - known)}};
}

double SumOf(const std::vector<ConvertPart>& parts) {
  double sum = 0;
  for (const ConvertPart& part : parts)
    sum += part.milliseconds;
  return sum;
}

TextTable WritersTable(const ConvertMeasured& measured, PartResult& part) {
  TextTable table({"", "images/s", "<least to most", "CPU ms/image", "bytes"});
  auto writers = nlohmann::ordered_json::array();
  for (const WriterTurns& turns : measured.writers) {
    if (!turns.missing.empty()) {
      table.Add({turns.name, "did not run: " + turns.missing});
      writers.push_back({{"name", turns.name}, {"missing", turns.missing}});
      continue;
    }
    part.Add(table, turns.name,
             {"images_per_second." + turns.name, "1/s", true, turns.images_per_second}, {},
             {cli::Format("%.2f", Median(turns.cpu_milliseconds)), cli::BytesText(turns.bytes)});
    part.measurements.push_back(
        {"cpu_milliseconds_per_image." + turns.name, "ms", false, turns.cpu_milliseconds});
    writers.push_back({{"name", turns.name},
                       {"settings", turns.about},
                       {"images_per_second", turns.images_per_second},
                       {"cpu_milliseconds_per_image", turns.cpu_milliseconds},
                       {"bytes_on_disk", turns.bytes}});
  }
  part.members["writers"] = std::move(writers);
  return table;
}

TextTable StagesTable(const ConvertMeasured& measured, PartResult& part) {
  TextTable table({"stage", "CPU ms/image", "share"});
  auto list = nlohmann::ordered_json::array();
  const std::vector<ConvertPart> parts = PartsOf(measured);
  const double sum = SumOf(parts);
  for (const ConvertPart& one : parts) {
    const double share = sum > 0 ? one.milliseconds / sum : 0;
    table.Add(
        {one.name, cli::Format("%.3f", one.milliseconds), cli::Format("%.1f%%", 100 * share)});
    list.push_back({{"name", one.name}, {"milliseconds", one.milliseconds}, {"share", share}});
  }
  part.members["stages"] = std::move(list);
  return table;
}

void ReportConversion(const ConvertMeasured& measured, const ConvertBenchOptions& options,
                      PartResult& part) {
  std::string head = cli::CountText(measured.images, "image", "images") + ", " +
                     cli::CountText(measured.threads, "worker", "workers");
  if (measured.left_out > 0)
    head += "; " + cli::CountText(measured.left_out, "source was", "sources were") + " left out";
  part.AddNote(head);
  part.text += WritersTable(measured, part).Text();
  if (measured.ratio > 0) {
    part.AddNote(
        cli::Format("sluice converts %.2f times as many images a second as FFCV (median of rounds)",
                    measured.ratio));
  }
  part.text += "\n" + StagesTable(measured, part).Text();
  part.AddNote("stages on one thread, over " +
               cli::CountText(measured.stages.images, "image", "images"));
  part.members.update({{"ratio", measured.ratio > 0 ? nlohmann::ordered_json(measured.ratio)
                                                    : nlohmann::ordered_json()},
                       {"stage_images", measured.stages.images},
                       {"source", ShownPath(options.source.string())},
                       {"images", measured.images},
                       {"left_out", measured.left_out},
                       {"threads", measured.threads},
                       {"rounds", options.rounds},
                       {"max_side", options.convert.geometry.max_side.value_or(0)},
                       {"quality", options.convert.form.quality}});
}

constexpr const char* kConvertDescription =
    "Converts a folder of pictures and says where the time goes.\n\n"
    "If bench/peers/setup.sh has installed FFCV, its DatasetWriter writes the same pictures with "
    "as many workers, at the same size and quality; if not, a line says so. Sluice and FFCV take "
    "turns, in an order that changes with the round, and start-up is not counted. Then the stages "
    "are timed on one thread: CPU time of reading, of decoding and resizing, and of encoding. The "
    "rest of a conversion's time is writing and all other work.\n";

constexpr const char* kConvertExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench convert photos/\n"
    "  sluice-bench convert photos/ --peers ~/peers --threads 2 --rounds 7 --json-file "
    "result.json\n"
    "  sluice-bench convert cifar/train --max-side 0 --peers ~/peers\n\n";

struct ConvertArguments {
  ConvertBenchOptions options;
  ResultOptions output;
};

constexpr auto kConvertBenchOptions = Options<ConvertBenchOptions>(
    "ConvertBenchOptions", "",
    Option("peers", &ConvertBenchOptions::peers,
           "folder that bench/peers/setup.sh made (default: none)",
           {.comparable = true, .value = "FOLDER"}),
    Option("work", &ConvertBenchOptions::work,
           "folder in which the output lies until it is removed at the end",
           {.comparable = true, .value = "FOLDER"}),
    Option("rounds", &ConvertBenchOptions::rounds, "rounds; each program runs once per round",
           {.least = 1, .most = 1000, .comparable = true}),
    Option("stage_images", &ConvertBenchOptions::stage_images, "images to measure the stages with",
           {.least = 1, .most = 1e6, .comparable = true}),
    Option("limit", &ConvertBenchOptions::limit_seconds, "seconds before a process is killed",
           {.least = 1, .most = 1e6, .comparable = true, .value = "SECONDS"}));

void AddConvertOptions(CLI::App& app, ConvertArguments& arguments) {
  ConvertBenchOptions& options = arguments.options;
  cli::AddDeclared(app, options, kConvertBenchOptions);
  app.get_option("--work")->check(CheckWorkFolder);
  cli::AddThreads(app, options.convert.run.threads, "threads, or workers");
  cli::AddOption(app, "--max-side", "N",
                 "shrink so that no side is longer than this many pixels (default 500; 0: do not "
                 "shrink)",
                 [&options](const std::string& text) {
                   const auto side = static_cast<std::uint32_t>(cli::ParseInteger(text, 0, 65500));
                   options.convert.geometry.max_side.reset();
                   if (side > 0) options.convert.geometry.max_side = side;
                 });
  cli::AddDeclared(app, options.convert.form, &FormOptions::quality);
}

}  // namespace

cli::Command AddConvertCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("convert", kConvertDescription);
  const auto arguments = std::make_shared<ConvertArguments>();
  cli::AddArgument(*app, "SOURCE", arguments->options.source, "folder of pictures");
  AddConvertOptions(*app, *arguments);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kConvertExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(
                arguments->output, "converting",
                "converting " + cli::Printable(ShownPath(arguments->options.source.string())),
                [&](PartResult& part, const std::stop_token& stop, cli::Progress& progress) {
                  const ConvertBenchOptions& options = arguments->options;
                  ReportConversion(MeasureConversion(options, HooksOf(stop, progress)), options,
                                   part);
                });
          }};
}

}  // namespace sluice::bench
