// Manual pages, made from what --help prints.
#pragma once

#include <string>

#include "tools/cli/program.h"

namespace sluice::cli {

// The page of one of the program's commands, or of the program itself where `command` is null.
// `source` is what stands at its foot, such as "sluice 0.1.0".
std::string ManualPage(const CLI::App& program, const CLI::App* command, const std::string& source);

// `manual FOLDER`: writes the page of the program and of each command, as PROGRAM-COMMAND.1. To be
// added behind all others. `source` as above.
Command AddManualCommand(CLI::App& program, const std::string& source);

}  // namespace sluice::cli
