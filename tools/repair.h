// `sluice repair`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddRepairCommand(CLI::App& program);

}  // namespace sluice
