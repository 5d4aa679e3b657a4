#include "tools/append.h"

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/convert_report.h"
#include "tools/convert_source.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kAppendDescription =
    "Adds samples to a dataset.\n\n"
    "SOURCE is converted with the options that the dataset was converted with; its shards are "
    "added\n"
    "behind the others. The old manifest stays, under its id, and whoever has the dataset open "
    "goes\n"
    "on undisturbed. Classes must be among the dataset's (otherwise convert and merge). An\n"
    "interrupted command, run again, goes on.\n";

constexpr const char* kAppendExamples =
    "\nExamples:\n"
    "  sluice append new-photos/ data/photos\n\n";

struct AppendArguments {
  SourceArguments source;
  ConvertOptions options;
  EditOutput output;
};

int RunAppend(AppendArguments& arguments) {
  const ConvertSource source = MakeSource(arguments.source);
  const std::string dataset = arguments.source.places.back();
  const cli::Interrupt interrupt;
  cli::Progress progress(
      cli::ProgressStyleFor(arguments.output.json || arguments.output.quiet), "converting",
      "appending " + cli::Printable(NameOf(arguments.source)) + " to " + cli::Printable(dataset));
  ConvertHooks hooks;
  hooks.stop = interrupt.token();
  hooks.on_progress = [&progress](const ConvertProgress& now) {
    progress.Update(now.samples_done, now.samples_total, now.bytes_out);
  };
  AppendSummary summary;
  try {
    summary = AppendToDataset(dataset, source, arguments.options, hooks);
  } catch (const Error& error) {
    progress.Erase();
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fprintf(stderr, "sluice: interrupted; %s is as it was, and the same command goes on\n",
                 cli::Printable(dataset).c_str());
    return cli::kInterrupted;
  }
  progress.Erase();
  if (arguments.output.json) {
    nlohmann::ordered_json json = MadeJson(dataset, summary.made);
    json["added"] = summary.converted.samples;
    json["skipped"] = summary.converted.skipped.size();
    json["skipped_list"] = LeftOutJson(summary.converted.skipped);
    cli::PrintJson(json);
  } else if (!arguments.output.quiet) {
    std::string text = cli::CountText(summary.converted.samples, "sample", "samples") + " added\n" +
                       MadeLine(dataset, summary.made);
    if (!summary.converted.skipped.empty()) {
      text += "  LEFT OUT   " +
              cli::CountText(summary.converted.skipped.size(), "source", "sources") + ":\n" +
              ReasonLines(summary.converted.skipped);
    }
    cli::PrintOut(text);
  }
  return summary.converted.skipped.empty() ? cli::kDone : cli::kSomeLeftOut;
}

}  // namespace

cli::Command AddAppendCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("append", kAppendDescription);
  const auto arguments = std::make_shared<AppendArguments>();
  AddSourceOptions(*app, arguments->source);
  cli::AddOption(*app, "--threads", "N", "threads to use (default: one for each CPU)",
                 [arguments](const std::string& text) {
                   arguments->options.threads =
                       static_cast<unsigned>(cli::ParseInteger(text, 1, 1024));
                 });
  cli::AddChoice<OnError>(
      *app, "--on-error", "WHAT",
      "skip (default): leave a broken image out and go on;\nfail: stop at the first one",
      {{"skip", OnError::kSkip}, {"fail", OnError::kFail}},
      [arguments](OnError on_error) { arguments->options.on_error = on_error; });
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kAppendExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunAppend(*arguments); }};
}

}  // namespace sluice
