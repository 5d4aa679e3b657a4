// The sluice-bench command. commands.h lists its sub-commands.
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/version.h>

#include "bench/commands.h"
#include "tools/cli/program.h"

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
  std::vector<sluice::cli::Command> commands;
  for (const auto add : sluice::bench::kCommands)
    commands.push_back(add(program));
  return sluice::cli::RunProgram(program, std::move(commands), argc, argv);
}
