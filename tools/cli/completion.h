// Completion of a program's commands, options and their values in bash and zsh.
#pragma once

#include "tools/cli/program.h"

namespace sluice::cli {

// `completion SHELL`, which prints the script that a shell is to run.
Command AddCompletionCommand(CLI::App& program);

// `complete . WORD...`, which these scripts run: prints what may stand in the last word's place, a
// line each with a tab and a description behind it; or a line ":files" or ":directories".
Command AddCompleteCommand(CLI::App& program);

}  // namespace sluice::cli
