// sluice-bench compare: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddCompareCommand(CLI::App& program);

}  // namespace sluice::bench
