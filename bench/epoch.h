// sluice-bench epoch: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddEpochCommand(CLI::App& program);

}  // namespace sluice::bench
