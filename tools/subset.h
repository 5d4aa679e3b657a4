// `sluice subset`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddSubsetCommand(CLI::App& program);

}  // namespace sluice
