// `sluice verify`: checks a dataset against the format, and reports each fault. Unlike the commands
// that make datasets, it does not use RunEdit(): after a stop, VerifyDataset() returns the faults
// that it has found so far instead of throwing, and they are printed. The exit code of an
// interruption takes precedence over that of faults. With --quiet, faults are printed, since they
// are the result.
#include <chrono>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <sluice/loader_option_list.h>
#include <sluice/shown_path.h>
#include <sluice/verify.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"
#include "tools/commands.h"

namespace sluice {

namespace {

using cli::CountText;
using cli::Printable;

// Prints a line for each fault and (unless quiet) the outcome.
void PrintVerifyText(const std::string& dataset, const VerifyReport& report, double seconds,
                     bool quiet) {
  std::string text;
  for (const Fault& fault : report.faults) {
    text += Printable(fault.shard);
    if (fault.sample >= 0) text += ", sample " + std::to_string(fault.sample);
    if (!fault.key.empty()) text += " (" + Printable(fault.key) + ")";
    text += ": " + Printable(fault.reason) + "\n";
  }
  if (!quiet) {
    text += Printable(dataset) + ": ";
    text +=
        report.faults.empty() ? "no faults" : CountText(report.faults.size(), "fault", "faults");
    text += std::string(report.stopped ? " until interrupted" : "") + ", " +
            CountText(report.samples, "sample", "samples") + ", " + cli::BytesText(report.bytes) +
            " in " + cli::SecondsText(seconds) + "\n";
  }
  cli::PrintOut(text);
}

// Prints one JSON object. A fault of a whole shard or file has null for its sample and key.
void PrintVerifyJson(const VerifyReport& report, double seconds) {
  auto faults = nlohmann::ordered_json::array();
  for (const Fault& fault : report.faults) {
    nlohmann::ordered_json one{
        {"shard", fault.shard}, {"sample", nullptr}, {"key", nullptr}, {"reason", fault.reason}};
    if (fault.sample >= 0) one["sample"] = fault.sample;
    if (!fault.key.empty()) one["key"] = fault.key;
    faults.push_back(std::move(one));
  }
  cli::PrintJson({{"samples", report.samples},
                  {"bytes", report.bytes},
                  {"seconds", seconds},
                  {"stopped", report.stopped},
                  {"faults", faults}});
}

constexpr const char* kVerifyDescription =
    "Checks every byte of a dataset, and that the dataset keeps to the format.\n\n"
    "Compares the manifest, headers, tables, directories and payloads with their checksums, and "
    "the padding between them with zero. Then checks the content: sizes, limits, sections, keys, "
    "labels, and the manifest's sums. Names each fault's shard, sample and key. "
    "With --decode, also decodes every image, decompresses every value, and reads every text and "
    "JSON text: that finds values that were already broken when they were written.\n";

constexpr const char* kVerifyExamples =
    "\n"
    "Examples:\n"
    "  sluice verify data/photos\n"
    "  sluice verify data/photos --decode --json > report.json\n\n";

struct VerifyArguments {
  std::string dataset;
  VerifyOptions options;
  bool json = false;
  bool quiet = false;
};

int RunVerify(VerifyArguments& arguments) {
  const cli::Interrupt interrupt;
  cli::Progress progress(cli::ProgressStyleFor(arguments.json || arguments.quiet), "verifying",
                         "verifying " + cli::Printable(ShownPath(arguments.dataset)));
  arguments.options.stop = interrupt.token();
  arguments.options.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.Update(done, total);
  };
  const auto begin = std::chrono::steady_clock::now();
  const VerifyReport report = VerifyDataset(arguments.dataset, arguments.options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  progress.Erase();
  if (arguments.json) {
    PrintVerifyJson(report, taken.count());
  } else {
    PrintVerifyText(ShownPath(arguments.dataset), report, taken.count(), arguments.quiet);
  }
  if (report.stopped) return cli::kInterrupted;
  return report.faults.empty() ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command AddVerifyCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("verify", kVerifyDescription);
  const auto arguments = std::make_shared<VerifyArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  app->add_flag("--decode", arguments->options.decode,
                "also decode every image, and look into all other values");
  cli::AddThreads(*app, arguments->options.threads);
  constexpr auto& kMaxPixels = option_list::OptionAt(&ReadLimits::max_pixels);
  cli::AddDeclared(*app, arguments->options,
                   option_list::Option("max_pixels", &VerifyOptions::max_pixels, kMaxPixels.help,
                                       kMaxPixels.facts));
  app->add_flag("--json", arguments->json,
                "print one JSON object to standard output, and no progress");
  app->add_flag("--quiet", arguments->quiet, "print faults and errors only");
  app->footer(std::string(kVerifyExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunVerify(*arguments); }};
}

}  // namespace sluice
