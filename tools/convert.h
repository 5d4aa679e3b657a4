// sluice convert: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddConvertCommand(CLI::App& program);

}  // namespace sluice
