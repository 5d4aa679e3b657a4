// sluice inspect: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddInspectCommand(CLI::App& program);

}  // namespace sluice
