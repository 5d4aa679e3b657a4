// sluice-bench transforms: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddTransformsCommand(CLI::App& program);

}  // namespace sluice::bench
