// The sub-commands of sluice, in the order of --help. The --help of each command describes it.
//
// A new command is a file of its name and an entry here. It also goes into these files, where
// "transcode" shows how:
//   tools/CMakeLists.txt
//   writer/README.md                    "The tools around"
//   tests/tools/usage_test.cpp
//   tests/tools/dataset_commands.h      if it takes a dataset
//   writer/include/sluice/dataset_edit.h  this and the next two if it makes a dataset of others
//   tests/interruption/edit_test.cpp
//   tests/fuzz/forged_targets.cpp
#pragma once

#include "tools/cli/program.h"

namespace sluice {

using AddCommand = cli::Command(CLI::App& program);

AddCommand AddConvertCommand, AddAppendCommand, AddInspectCommand, AddStatsCommand,
    AddPreviewCommand, AddVerifyCommand, AddRepairCommand, AddSubsetCommand, AddMergeCommand,
    AddExportCommand, AddTranscodeCommand, AddCopyCommand, AddCacheCommand, AddPlanCommand,
    AddFinishCommand, AddStatusCommand;

inline constexpr AddCommand* kCommands[] = {
    AddConvertCommand, AddAppendCommand, AddInspectCommand,   AddStatsCommand,
    AddPreviewCommand, AddVerifyCommand, AddRepairCommand,    AddSubsetCommand,
    AddMergeCommand,   AddExportCommand, AddTranscodeCommand, AddCopyCommand,
    AddCacheCommand,   AddPlanCommand,   AddFinishCommand,    AddStatusCommand};

}  // namespace sluice
