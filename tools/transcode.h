// `sluice transcode`.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddTranscodeCommand(CLI::App& program);

}  // namespace sluice
