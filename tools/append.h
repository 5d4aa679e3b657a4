// `sluice append`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddAppendCommand(CLI::App& program);

}  // namespace sluice
