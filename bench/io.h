// sluice-bench io: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddIoCommand(CLI::App& program);

}  // namespace sluice::bench
