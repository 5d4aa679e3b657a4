// The exit codes of the commands. Scripts rely on these numbers: they do not change.
#pragma once

namespace sluice::cli {

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

}  // namespace sluice::cli
