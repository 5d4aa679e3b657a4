// sluice verify: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddVerifyCommand(CLI::App& program);

}  // namespace sluice
