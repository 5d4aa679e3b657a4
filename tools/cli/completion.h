// Scripts that let a shell complete a program's commands, options and values.
#pragma once

#include <string>

#include "tools/cli/program.h"

namespace sluice::cli {

std::string BashCompletion(const CLI::App& program);
std::string ZshCompletion(const CLI::App& program);

// `completion bash|zsh`: prints the script. Add it after all other commands.
Command AddCompletionCommand(CLI::App& program);

}  // namespace sluice::cli
