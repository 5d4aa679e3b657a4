// `sluice preview`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddPreviewCommand(CLI::App& program);

}  // namespace sluice
