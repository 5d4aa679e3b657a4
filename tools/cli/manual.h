// Manual pages, made from what --help prints.
#pragma once

#include <string>

#include "tools/cli/program.h"

namespace sluice::cli {

// The page of one of the program's commands, or of the program itself if `command` is null.
// `source` is printed at its foot, such as "sluice 0.2.0".
std::string ManualPage(const CLI::App& program, const CLI::App* command, const std::string& source);

// `manual FOLDER`: writes the pages of the program and of each command, as PROGRAM-COMMAND.1. Add
// it after all other commands. `source` as above.
Command AddManualCommand(CLI::App& program, const std::string& source);

}  // namespace sluice::cli
