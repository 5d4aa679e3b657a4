// sluice-bench upload: see its --help.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddUploadCommand(CLI::App& program);

}  // namespace sluice::bench
