#include <chrono>
#include <memory>

#include <sluice/shown_path.h>
#include <sluice/verify.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/read_limits.h"
#include "tools/commands.h"
#include "tools/verify_report.h"

namespace sluice {
namespace {

constexpr const char* kVerifyDescription =
    "Checks every byte of a dataset.\n\n"
    "Compares every byte of the dataset with its checksums: manifest, headers, tables,\n"
    "directories, payloads, and the padding between them. Names each fault's shard, sample\n"
    "and key. With --decode, also decodes every image: that finds images that were already\n"
    "broken when they were written.\n";

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
  app->add_flag("--decode", arguments->options.decode, "also decode every image");
  cli::AddNumber(*app, "--threads", "N", "threads to use (default: one for each CPU)",
                 arguments->options.threads, 1, 1024);
  cli::AddMaxPixels(*app, arguments->options.max_pixels);
  app->add_flag("--json", arguments->json,
                "print one JSON object to standard output, and no\nprogress");
  app->add_flag("--quiet", arguments->quiet, "print faults and errors only");
  app->footer(std::string(kVerifyExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunVerify(*arguments); }};
}

}  // namespace sluice
