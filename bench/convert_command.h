// sluice-bench convert: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddConvertCommand(CLI::App& program);

}  // namespace sluice::bench
