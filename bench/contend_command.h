// sluice-bench contend: the loaders of this program as `sluice-bench compare` runs them, each a
// process of its own. Not in --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddContendCommand(CLI::App& program);

}  // namespace sluice::bench
