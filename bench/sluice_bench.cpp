// The sluice-bench command: one sub-command to a file.
#include <CLI/CLI.hpp>

#include <sluice/version.h>

#include "bench/commands.h"
#include "tools/cli/exit_code.h"

int main(int argc, char** argv) {
  sluice::cli::EndWithoutMemory();
  CLI::App program("Measures what an epoch of a sluice dataset costs on this machine.",
                   "sluice-bench");
  program.set_version_flag("--version", std::string("sluice-bench ") + sluice::kLibraryVersion,
                           "print the version and exit");
  program.footer(std::string("\nExamples:\n"
                             "  sluice-bench epoch data/photos\n"
                             "  sluice-bench decode data/photos\n"
                             "  sluice-bench advise photos/\n"
                             "  sluice-bench epoch --help\n\n") +
                 sluice::cli::kExitCodeHelp);
  return sluice::cli::RunProgram(
      program,
      {sluice::bench::AddEpochCommand(program), sluice::bench::AddDecodeCommand(program),
       sluice::bench::AddCompareCommand(program), sluice::bench::AddConvertCommand(program),
       sluice::bench::AddGateCommand(program), sluice::bench::AddIoCommand(program),
       sluice::bench::AddUploadCommand(program), sluice::bench::AddAdviseCommand(program),
       sluice::bench::AddOrderCommand(program), sluice::bench::AddContendCommand(program),
       sluice::bench::AddTransformsCommand(program)},
      argc, argv);
}
