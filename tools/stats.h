// `sluice stats`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddStatsCommand(CLI::App& program);

}  // namespace sluice
