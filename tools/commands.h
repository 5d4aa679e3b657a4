// The sub-commands of sluice; each one's --help describes it.
//
// A new one takes a file of its name, its line here, in sluice.cpp and in CMakeLists.txt, a row in
// writer/README.md ("The tools around"), and lines in tests/tools/usage_test.cpp and
// dataset_commands.h. If it makes a dataset: edit_command.h, a function in sluice/dataset_edit.h
// with its file in writer/edit/, and lines in tests/interruption/edit_test.cpp and
// tests/fuzz/forged_targets.cpp.
#pragma once

#include "tools/cli/program.h"

namespace sluice {

cli::Command AddAppendCommand(CLI::App& program);
cli::Command AddCacheCommand(CLI::App& program);
cli::Command AddConvertCommand(CLI::App& program);
cli::Command AddCopyCommand(CLI::App& program);
cli::Command AddExportCommand(CLI::App& program);
cli::Command AddFinishCommand(CLI::App& program);
cli::Command AddInspectCommand(CLI::App& program);
cli::Command AddMergeCommand(CLI::App& program);
cli::Command AddPlanCommand(CLI::App& program);
cli::Command AddPreviewCommand(CLI::App& program);
cli::Command AddRepairCommand(CLI::App& program);
cli::Command AddStatusCommand(CLI::App& program);
cli::Command AddStatsCommand(CLI::App& program);
cli::Command AddSubsetCommand(CLI::App& program);
cli::Command AddTranscodeCommand(CLI::App& program);
cli::Command AddVerifyCommand(CLI::App& program);

}  // namespace sluice
