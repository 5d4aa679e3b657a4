#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/convert/measure.h"
#include "bench/machine/work_folder.h"
#include "bench/report/measuring_command.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::AddOption;
using cli::ParseInteger;

constexpr const char* kConvertDescription =
    "Converts a folder of pictures and says where the time goes.\n\n"
    "Beside it FFCV's DatasetWriter writes the same pictures with as many workers, at the\n"
    "same size and quality, where bench/peers/setup.sh has installed it; one that is missing\n"
    "is a line. They take turns, in an order that changes with the round. Programs' start is\n"
    "not counted. The shares of the stages are taken on one thread behind that: CPU time of\n"
    "reading, of decoding and resizing, and of encoding; what a conversion takes beyond them\n"
    "is writing and the rest.\n";

constexpr const char* kConvertExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench convert photos/\n"
    "  sluice-bench convert photos/ --peers ~/peers --threads 2 --rounds 7 --json-file "
    "result.json\n"
    "  sluice-bench convert cifar/train --max-side 0 --peers ~/peers\n\n";

struct ConvertArguments {
  ConvertBenchOptions options;
  std::string source, work = "sluice-convert", peers;
  ResultOptions output;
};

Answer ConvertAnswer(ConvertArguments& arguments, const std::stop_token& stop,
                     cli::Progress& progress) {
  arguments.options.source = arguments.source;
  arguments.options.work = arguments.work;
  arguments.options.peers = arguments.peers;
  ConvertBenchHooks hooks;
  hooks.stop = stop;
  hooks.on_step = [&](const std::string& activity, std::uint64_t done, std::uint64_t all) {
    progress.SetActivity(activity);
    progress.Update(done, all);
  };
  const ConvertMeasured measured = MeasureConversion(arguments.options, hooks);
  return {TextOf(measured), JsonOf(measured, arguments.options), {}};
}

void AddConvertOptions(CLI::App& app, ConvertArguments& arguments) {
  ConvertBenchOptions& options = arguments.options;
  app.add_option("--peers", arguments.peers, "what bench/peers/setup.sh made (default: none)")
      ->type_name("FOLDER");
  app.add_option("--work", arguments.work,
                 "folder that both write to; removed at the end (default\n"
                 "sluice-convert)")
      ->type_name("FOLDER")
      ->check(CheckWorkFolder);
  AddNumber(app, "--threads", "N", "threads, or workers (default: one for each CPU)",
            options.convert.threads, 1, 1024);
  AddNumber(app, "--rounds", "N", "rounds, a turn of each in each (default 5)", options.rounds, 1,
            1000);
  AddOption(app, "--max-side", "N",
            "shrink so that no side is longer than this many pixels\n"
            "(default 500; 0: do not shrink)",
            [&options](const std::string& text) {
              const auto side = static_cast<std::uint32_t>(ParseInteger(text, 0, 65500));
              options.convert.max_side.reset();
              if (side > 0) options.convert.max_side = side;
            });
  AddNumber(app, "--quality", "Q", "JPEG quality (default 90)", options.convert.quality, 1, 100);
  AddNumber(app, "--stage-images", "N", "images to measure the stages with (default 200)",
            options.stage_images, 1, 1'000'000);
  AddNumber(app, "--limit", "SECONDS", "seconds before a process is killed (default 600)",
            options.limit_seconds, 1, 1'000'000);
}

}  // namespace

cli::Command AddConvertCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("convert", kConvertDescription);
  const auto arguments = std::make_shared<ConvertArguments>();
  cli::AddArgument(*app, "SOURCE", arguments->source, "folder of pictures");
  AddConvertOptions(*app, *arguments);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kConvertExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "converting",
                                "converting " + cli::Printable(ShownPath(arguments->source)),
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  return ConvertAnswer(*arguments, stop, progress);
                                });
          }};
}

}  // namespace sluice::bench
