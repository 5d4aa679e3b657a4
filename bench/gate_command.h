// sluice-bench gate: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddGateCommand(CLI::App& program);

}  // namespace sluice::bench
