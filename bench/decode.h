// sluice-bench decode: ways of decoding a crop, side by side.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddDecodeCommand(CLI::App& program);

}  // namespace sluice::bench
