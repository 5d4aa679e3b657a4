// A program made of commands. Parsing, error messages, shell completion and exit codes are the same
// for all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::cli {

// Scripts rely on these numbers: they do not change.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,         // the command failed, or found faults
  kWrongUsage = 2,     // unknown or contradictory options, or options that do not fit the data
  kSomeLeftOut = 3,    // done, but some sources were left out as broken
  kInterrupted = 130,  // ended early by SIGINT or SIGTERM
};

// The paragraph about exit codes that ends a command's --help.
inline constexpr const char* kExitCodeHelp =
    "Exit codes: 0 done; 1 failed, or faults found; 2 wrong usage;\n"
    "            3 done, but broken sources were left out; 130 interrupted.";

struct Command {
  CLI::App* app = nullptr;   // a sub-command of the program's App, with its options
  std::function<int()> run;  // called once its options are parsed; returns an ExitCode
};

// Parses the command line and runs the command that it names. Writes an exception to standard error
// as "NAME: what happened"; after wrong usage, adds where to find help. Adds the commands for shell
// completion. Returns the exit code.
int RunProgram(CLI::App& program, std::vector<Command> commands, int argc, char** argv);

// Makes the process end with a sentence and kFailed, instead of a signal, when memory runs out
// where nothing catches the exception: in a thread, or in a function that may not throw, such as
// destructors of the libraries that read options and JSON. Call it first in main().
void EndWithoutMemory() noexcept;

}  // namespace sluice::cli
