// `sluice copy`: copies a dataset between folders and object stores, without changing a byte.
// CopyDataset() takes its stop and its progress as members of CopyOptions, unlike the functions
// that make new datasets, so RunCopy() hands those of RunEdit() over. The summary is printed here
// and not by MadeLine(), because it counts the shards that were at the target already. It shows the
// target as the report has it, without the secrets that a URL may hold.
#include <memory>

#include <sluice/copy.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kCopyDescription =
    "Copies a dataset to another place: a folder, or an object store.\n\n"
    "SOURCE and TARGET are folders or URLs (s3://bucket/prefix, gs://, https://; nothing can be "
    "written to a plain HTTP server). Shards come first and the manifest last. Every byte is "
    "compared with its checksum before it is written; damage ends the copy. Run an interrupted "
    "command again to resume: shards that TARGET has already are read, compared with their "
    "checksums and, if they are intact, not copied again. So the same command also repairs a copy "
    "that was damaged later.\n";

constexpr const char* kCopyExamples =
    "\nExamples:\n"
    "  sluice copy data/photos s3://bucket/photos\n"
    "  sluice copy s3://bucket/photos /nvme/photos --threads 8\n\n";

struct CopyArguments {
  std::string source;
  std::string target;
  CopyOptions options;
  EditOutput output;
};

int RunCopy(CopyArguments& arguments) {
  CopyReport report;
  const bool done =
      RunEdit(arguments.output, "copying", "copying the dataset", [&](const EditHooks& hooks) {
        arguments.options.stop = hooks.stop;
        arguments.options.on_progress = hooks.on_progress;
        report = CopyDataset(arguments.source, arguments.target, arguments.options);
      });
  if (!done) return cli::kInterrupted;
  if (arguments.output.json) {
    cli::PrintJson({{"dataset", report.target},
                    {"samples", report.samples},
                    {"shards", report.shards},
                    {"shards_already_there", report.shards_already_there},
                    {"bytes", report.bytes}});
  } else if (!arguments.output.quiet) {
    cli::PrintOut(cli::Printable(report.target) + ": " +
                  cli::CountText(report.samples, "sample", "samples") + " in " +
                  cli::CountText(report.shards, "shard", "shards") +
                  (report.shards_already_there > 0
                       ? " (" + std::to_string(report.shards_already_there) + " were there)"
                       : "") +
                  ", " + cli::BytesText(report.bytes) + "\n");
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddCopyCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("copy", kCopyDescription);
  const auto arguments = std::make_shared<CopyArguments>();
  cli::AddArgument(*app, "SOURCE", arguments->source, "folder or URL of the dataset");
  cli::AddArgument(*app, "TARGET", arguments->target, "folder or URL to copy it to");
  cli::AddDeclared(
      *app, arguments->options,
      option_list::Option("threads", &CopyOptions::threads,
                          "shards copied at the same time; each takes its own size in memory",
                          {.least = 1, .most = 1024}));
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kCopyExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunCopy(*arguments); }};
}

}  // namespace sluice
