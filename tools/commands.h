// The sub-commands of sluice; each one's --help describes it.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddAppendCommand(CLI::App& program);
cli::Command AddCacheCommand(CLI::App& program);
cli::Command AddConvertCommand(CLI::App& program);
cli::Command AddCopyCommand(CLI::App& program);
cli::Command AddExportCommand(CLI::App& program);
cli::Command AddInspectCommand(CLI::App& program);
cli::Command AddMergeCommand(CLI::App& program);
cli::Command AddPreviewCommand(CLI::App& program);
cli::Command AddRepairCommand(CLI::App& program);
cli::Command AddStatsCommand(CLI::App& program);
cli::Command AddSubsetCommand(CLI::App& program);
cli::Command AddTranscodeCommand(CLI::App& program);
cli::Command AddVerifyCommand(CLI::App& program);

}  // namespace sluice
