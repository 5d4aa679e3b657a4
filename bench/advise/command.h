// `sluice-bench advise`: which form to train from, and what it will cost.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddAdviseCommand(CLI::App& program);

}  // namespace sluice::bench
