// The sluice command. commands.h lists its sub-commands.
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/version.h>

#include "tools/cli/program.h"
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
  std::vector<sluice::cli::Command> commands;
  for (const auto add : sluice::kCommands)
    commands.push_back(add(program));
  return sluice::cli::RunProgram(program, std::move(commands), argc, argv);
}
