// `sluice merge`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddMergeCommand(CLI::App& program);

}  // namespace sluice
