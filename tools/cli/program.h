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

// Call it first. From then on a lack of memory that nobody handles ends the process with a sentence
// and kFailed, not by a signal: one in a thread, or in a function that may not throw, as are
// destructors of the libraries that read options and JSON.
void EndWithoutMemory() noexcept;

}  // namespace sluice::cli
