// A program made of commands: parsing, error messages and exit codes, the same for all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::cli {

struct Command {
  CLI::App* app = nullptr;   // a sub-command of the program's App, with its options
  std::function<int()> run;  // called once its options are parsed; returns an ExitCode
};

// Parses the command line and runs the command it names. Writes any exception to standard error as
// "NAME: what happened"; after wrong usage, also where to look. Adds the commands by which shells
// complete. Returns the exit code.
int RunProgram(CLI::App& program, std::vector<Command> commands, int argc, char** argv);

}  // namespace sluice::cli
