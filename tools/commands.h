// The sub-commands of sluice, in the order of --help. The --help of each command describes it.
//
// A new command is a file of its name and an entry here. ("not" marks files below that have the
// word for another reason.) It also goes into these files, where "transcode" shows how:
//   tools/CMakeLists.txt
//   tools/docs/json_examples.py           if it has --json; the site does not build without it
//   writer/README.md                      "The tools around"
//   tests/tools/CMakeLists.txt            its own test
//   tests/tools/usage_test.cpp
//   tests/tools/url_test.cpp              whether it takes a URL or not
//   tests/README.md                       what its test checks
//   tests/tools/dataset_commands.h        from here on: if it takes a dataset
//   tests/tools/odd_dataset_test.cpp
//   tests/interruption/no_memory_test.cpp
//   tests/fuzz/fuzz_test.cpp              with its target; or command_targets.cpp, if it reads
//   tests/fuzz/forged_targets.h
//   tests/fuzz/forged_targets.cpp
//   tests/fuzz/CMakeLists.txt
//   writer/include/sluice/dataset_edit.h  from here on: if it makes a dataset of others
//   writer/CMakeLists.txt
//   tests/tools/edit_test.cpp
//   tests/format/read_every_command.py
//   tests/interruption/edit_test.cpp
//   tests/interruption/direct_test.cpp
//   writer/include/sluice/convert_option_list.h  from here on: if it declares options
//   tools/docs/options.cpp
//   tools/docs/options.py
//   tests/python/test_options.py
//   not tests/python/test_wide.py         converts images of any type
//   not bench/                            calls it
//   not reader/loader/memory_bound.cpp    advises it, as do the next six
//   not writer/source/list/list_checks.cpp  likewise
//   not samples/guides/settings.md        likewise
//   not samples/guides/living-data.md     likewise
//   not samples/guides/trouble.md         likewise
//   not samples/guides/living-data.md     says which commands take columns in
//   not tests/bench/advise_test.cpp       likewise
//   not tests/tools/bench_advise_test.cpp  likewise
//   not tests/tools/append_test.cpp       makes a dataset with it, as does the next
//   not tests/writer/subset_test.cpp      likewise
//   not tests/python/test_columns.py      likewise
//   not tests/libjpeg_rewrite.cpp         means something else, as does the next
//   not tests/pixels/file_writer_test.cpp  likewise
#pragma once

#include "tools/cli/program.h"

namespace sluice {

using AddCommand = cli::Command(CLI::App& program);

AddCommand AddConvertCommand, AddAppendCommand, AddInspectCommand, AddStatsCommand,
    AddPreviewCommand, AddVerifyCommand, AddRepairCommand, AddSubsetCommand, AddMergeCommand,
    AddExportCommand, AddTranscodeCommand, AddCopyCommand, AddCacheCommand, AddPlanCommand,
    AddFinishCommand, AddStatusCommand, AddWhenCommand, AddColumnCommand, AddLogCommand,
    AddTagCommand, AddRestoreCommand, AddGcCommand, AddDeleteCommand;

inline constexpr AddCommand* kCommands[] = {
    AddConvertCommand,   AddAppendCommand,  AddInspectCommand, AddStatsCommand,  AddPreviewCommand,
    AddVerifyCommand,    AddRepairCommand,  AddSubsetCommand,  AddMergeCommand,  AddExportCommand,
    AddTranscodeCommand, AddCopyCommand,    AddCacheCommand,   AddPlanCommand,   AddFinishCommand,
    AddStatusCommand,    AddWhenCommand,    AddColumnCommand,  AddDeleteCommand, AddLogCommand,
    AddTagCommand,       AddRestoreCommand, AddGcCommand};

}  // namespace sluice
