// `sluice export`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddExportCommand(CLI::App& program);

}  // namespace sluice
