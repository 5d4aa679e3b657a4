// `sluice-bench order`: what an epoch's order costs, and how well it shuffles.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddOrderCommand(CLI::App& program);

}  // namespace sluice::bench
