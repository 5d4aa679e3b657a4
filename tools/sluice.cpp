// The sluice command: one sub-command to a file.
#include <CLI/CLI.hpp>

#include <sluice/version.h>

#include "tools/cli/exit_code.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  sluice::cli::EndWithoutMemory();
  CLI::App program("Compiles folders of images into sharded datasets, and looks after them.",
                   "sluice");
  program.set_version_flag("--version",
                           std::string("sluice ") + sluice::kLibraryVersion + ", dataset format " +
                               std::to_string(sluice::kFormatVersion),
                           "print the version and exit");
  program.footer(
      std::string("\nExamples:\n"
                  "  sluice convert photos/ data/        one class per sub-folder\n"
                  "  sluice inspect data/\n"
                  "  sluice verify data/\n"
                  "  sluice convert --help               each command explains itself\n\n") +
      sluice::cli::kExitCodeHelp);
  return sluice::cli::RunProgram(
      program,
      {sluice::AddConvertCommand(program), sluice::AddAppendCommand(program),
       sluice::AddInspectCommand(program), sluice::AddStatsCommand(program),
       sluice::AddPreviewCommand(program), sluice::AddVerifyCommand(program),
       sluice::AddRepairCommand(program), sluice::AddSubsetCommand(program),
       sluice::AddMergeCommand(program), sluice::AddExportCommand(program),
       sluice::AddTranscodeCommand(program), sluice::AddCopyCommand(program),
       sluice::AddCacheCommand(program), sluice::AddPlanCommand(program),
       sluice::AddFinishCommand(program), sluice::AddStatusCommand(program)},
      argc, argv);
}
