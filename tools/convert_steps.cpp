// The steps of a conversion in parts: `sluice convert --part`, `sluice finish` and `sluice status`,
// and RunConversion(), which runs any of them with progress.
//
// Exit codes tell a script what to do: a part exits with 0 also if sources were left out, since a
// scheduler would repeat it for ever; `finish` says that some are missing (kSomeLeftOut), because
// it is the last step.
//
// RunConversion() is used by `sluice convert`, too. Only an Error(kState) after a signal counts as
// an interruption; any other Error is reported, even if a signal came first. After an Error(kIo),
// what was finished is still there, so its sentence says that the command can be repeated.
#include <cstdio>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"
#include "tools/commands.h"
#include "tools/convert.h"

namespace sluice {

using cli::CountText;
using cli::Printable;
using cli::UsageError;

namespace {

constexpr const char* kFinishDescription =
    "Makes a dataset of the parts that `sluice convert --part` has made.\n\n"
    "DATASET is a folder that `sluice plan` has begun. The command reads the tables of all shards, "
    "and writes skipped.tsv and the manifest; then the dataset is what `sluice convert` alone "
    "would have made. If parts are missing, the command names their shards and exits with 1.\n";

constexpr const char* kStatusDescription =
    "Shows how far a conversion in parts has come.\n\n"
    "DATASET is a folder that `sluice plan` has begun. The command reads the plan there, and the "
    "names, sizes and times of the files, so it may run on any machine, at any time.\n";

struct StepArguments {
  std::string dataset;
  unsigned threads = 0;
  bool json = false;
  bool quiet = false;
  bool watch = false;
};

int RunFinish(const StepArguments& arguments) {
  ConvertAccount account{arguments.dataset, {}, {}};
  bool was_finished = false;
  const bool done = RunConversion(
      cli::Interrupt(), arguments.dataset, arguments.json || arguments.quiet, "finishing",
      "finishing " + Printable(arguments.dataset), [&](const ConvertHooks& hooks) {
        FinishedConversion made = FinishConversion(arguments.dataset, arguments.threads, hooks);
        account.options = made.options;
        was_finished = made.was_finished;
        account.summary = std::move(made.summary);
      });
  if (!done) return cli::kInterrupted;
  account.found_done = account.summary.samples + account.summary.skipped.size();
  if (arguments.json) {
    cli::PrintJson(ConvertJson(account));
  } else if (was_finished && !arguments.quiet) {
    cli::PrintOut(Printable(arguments.dataset) +
                  ": finished already: " + CountText(account.summary.samples, "sample", "samples") +
                  " in " + CountText(account.summary.shards, "shard", "shards") + "\n");
  } else if (!arguments.quiet) {
    PrintConvertText(account);
  }
  return account.summary.skipped.empty() ? cli::kDone : cli::kSomeLeftOut;
}

nlohmann::ordered_json StatusJson(const std::string& dataset, const ConversionStatus& status) {
  nlohmann::ordered_json json = {{"dataset", ShownPath(dataset)},
                                 {"finished", status.finished},
                                 {"samples", status.samples},
                                 {"samples_done", status.done_samples},
                                 {"shards", status.shards},
                                 {"shards_done", status.done},
                                 {"bytes", status.bytes},
                                 {"files_being_written", status.writing},
                                 {"files_abandoned", status.abandoned},
                                 {"missing", status.missing},
                                 {"samples_per_second", nullptr},
                                 {"seconds_left", nullptr}};
  if (status.samples_per_second && *status.samples_per_second > 0) {
    json["samples_per_second"] = *status.samples_per_second;
    json["seconds_left"] =
        static_cast<double>(status.samples - status.done_samples) / *status.samples_per_second;
  }
  return json;
}

std::string StatusText(const std::string& dataset, const ConversionStatus& status) {
  std::string text = Printable(dataset) + ": " + std::to_string(status.done) + " of " +
                     CountText(status.shards, "shard", "shards") + ", " +
                     std::to_string(status.done_samples) + " of " +
                     CountText(status.samples, "source", "sources") + ", " +
                     cli::BytesText(status.bytes) + "\n";
  if (status.finished) return text + "  finished: the dataset is whole\n";
  if (status.samples_per_second && *status.samples_per_second > 0) {
    const double left = static_cast<double>(status.samples - status.done_samples);
    text += "  rate       " + cli::RateText(*status.samples_per_second) + " images/s\n";
    if (left > 0)
      text += "  time left  " + cli::SecondsText(left / *status.samples_per_second) + "\n";
  }
  if (!IsStoreUrl(dataset))  // in a store, an object appears only once it is complete
    text += "  at work    " + CountText(status.writing, "file grows", "files grow") + "\n";
  if (status.abandoned > 0) {
    text += "  abandoned  " + CountText(status.abandoned, "unfinished file", "unfinished files") +
            " not written to for a minute: the process that wrote is gone, or stuck\n";
  }
  if (status.missing.empty()) {
    return text + "  all parts are there: run `sluice finish " + Printable(dataset) + "`\n";
  }
  return text + "  missing    " + NumberRuns(status.missing) + "\n";
}

int WatchStatus(const StepArguments& arguments, const cli::Interrupt& interrupt) {
  for (;;) {
    const ConversionStatus status = StatusOfConversion(arguments.dataset, interrupt.token());
    if (arguments.json) {
      cli::PrintJson(StatusJson(arguments.dataset, status));
    } else {
      cli::PrintOut(StatusText(arguments.dataset, status));
    }
    if (!arguments.watch || status.finished) return cli::kDone;
    // Two seconds in short pieces: Ctrl-C ends the wait at once.
    for (int i = 0; i < 40 && !interrupt.requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (interrupt.requested()) return cli::kInterrupted;
  }
}

int RunStatus(const StepArguments& arguments) {
  const cli::Interrupt interrupt;
  try {
    return WatchStatus(arguments, interrupt);
  } catch (const Error& error) {
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    return cli::kInterrupted;
  }
}

}  // namespace

bool RunConversion(const cli::Interrupt& interrupt, const std::string& dataset, bool silent,
                   const std::string& activity, const std::string& title,
                   const std::function<void(ConvertHooks)>& step) {
  cli::Progress progress(cli::ProgressStyleFor(silent), activity, title);
  ConvertHooks hooks;
  hooks.stop = interrupt.token();
  hooks.on_look = [&](std::uint64_t looked_into, std::uint64_t found) {
    progress.SetActivity("looking into files");
    progress.Update(looked_into, found);
  };
  hooks.on_progress = [&](const ConvertProgress& now) {
    progress.SetActivity(activity);
    progress.Update(now.samples_done, now.samples_total, now.bytes_out);
  };
  try {
    step(std::move(hooks));
  } catch (const Error& error) {
    progress.Erase();
    if (error.code() == ErrorCode::kIo) {
      throw Error(error.code(), error.file(), error.place(),
                  error.sentence() +
                      "; what was finished is kept. Once the cause is removed, run the same "
                      "command again to resume");
    }
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fprintf(stderr,
                 "sluice: interrupted. What was finished is kept in %s; run the same command again "
                 "to resume.\n",
                 Printable(dataset).c_str());
    return false;
  }
  progress.Erase();
  return true;
}

PlanPart ParsePart(const std::string& text) {
  const std::size_t slash = text.find('/');
  try {
    // The text does not matter: all mistakes get the sentence below.
    if (slash == std::string::npos) throw UsageError("");
    PlanPart part;
    part.of = cli::ParseInteger(text.substr(slash + 1), 1, 1'000'000);
    part.number = cli::ParseInteger(text.substr(0, slash), 0, part.of - 1);
    return part;
  } catch (const UsageError&) {
    throw UsageError("\"" + text + "\" is not I/N, such as 3/10, with I from 0 to N - 1");
  }
}

int RunPart(const PartArguments& arguments) {
  PartSummary summary;
  const bool done = RunConversion(
      cli::Interrupt(), arguments.dataset, arguments.json || arguments.quiet, "converting",
      "converting a part of " + Printable(arguments.dataset), [&](const ConvertHooks& hooks) {
        summary = ConvertPlanned(arguments.dataset, arguments.part, arguments.options, hooks);
      });
  if (!done) return cli::kInterrupted;
  if (arguments.json) {
    cli::PrintJson({{"dataset", ShownPath(arguments.dataset)},
                    {"part", arguments.part.number},
                    {"of", arguments.part.of},
                    {"dataset_finished", summary.dataset_finished},
                    {"shards", summary.shards},
                    {"shards_found", summary.found},
                    {"samples", summary.samples},
                    {"left_out", summary.left_out},
                    {"shrunk", summary.shrunk},
                    {"reencoded", summary.reencoded},
                    {"rounded", summary.rounded},
                    {"bytes", summary.bytes_out},
                    {"seconds", summary.seconds}});
  } else if (!arguments.quiet) {
    std::string text = Printable(arguments.dataset) + ": part " +
                       std::to_string(arguments.part.number) + " of " +
                       std::to_string(arguments.part.of);
    if (summary.dataset_finished) {
      text += ": the dataset is finished\n";
    } else {
      text += " is there: " + CountText(summary.shards, "shard", "shards");
      if (summary.found > 0) text += " (" + std::to_string(summary.found) + " were there)";
      text += " of " + CountText(summary.samples, "source", "sources") + ", " +
              std::to_string(summary.left_out) + " left out, " + cli::BytesText(summary.bytes_out) +
              ", " + cli::SecondsText(summary.seconds) + "\n";
    }
    cli::PrintOut(text);
  }
  // Also if sources were left out: at any other exit code, a scheduler would repeat the part.
  return cli::kDone;
}

cli::Command AddFinishCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("finish", kFinishDescription);
  const auto arguments = std::make_shared<StepArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder that was planned");
  cli::AddThreads(*app, arguments->threads, "threads to look for duplicates with");
  app->add_flag("--json", arguments->json,
                "print one JSON object to standard output, and no progress");
  app->add_flag("--quiet", arguments->quiet, "print errors only");
  app->footer(std::string("\nExamples:\n  sluice finish data/photos\n\n") + cli::kExitCodeHelp);
  return {app, [arguments] { return RunFinish(*arguments); }};
}

cli::Command AddStatusCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("status", kStatusDescription);
  const auto arguments = std::make_shared<StepArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder that was planned");
  app->add_flag("--watch", arguments->watch,
                "look again every two seconds, until the dataset is finished");
  app->add_flag("--json", arguments->json, "print JSON objects to standard output");
  app->footer(std::string("\nExamples:\n  sluice status data/photos --watch\n\n") +
              cli::kExitCodeHelp);
  return {app, [arguments] { return RunStatus(*arguments); }};
}

}  // namespace sluice
