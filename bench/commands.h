// The sub-commands of sluice-bench, in the order of --help. The --help of each command describes
// it.
//
// A new measurement of one part is a file in bench/parts/ and an entry here. ("not" marks files
// below that have the words for another reason.) It also goes into
// these files, where
// "["`](transforms|upload)["`]|" upload transforms|(bench |parts/)(transforms|upload)" shows how:
//   bench/CMakeLists.txt
//   bench/README.md
//   bench/report/SCHEMA.md
//   tests/tools/usage_test.cpp
//   tests/tools/bench_parts_test.cpp
//   tests/tools/dataset_commands.h        if it takes a dataset
//   bench/gate/gate.cpp                   this and the next if it has settings of its own
//   tests/bench/gate_test.cpp
//   tests/tools/bench_device_test.cpp     if it needs a card
//   not bench/epoch/                      has a stage of that name
//   not tests/bench/                      tests of what it measures
//   not tests/tools/device_day_test.py    a script that calls it
//   not reader/                           loaders upload, too
//   not tools/docs/python_reference.py    a group of names
//
// If it takes a dataset, tests/tools/url_test.cpp tries it with a URL.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

using AddCommand = cli::Command(CLI::App& program);

AddCommand AddEpochCommand, AddDecodeCommand, AddCompareCommand, AddConvertCommand, AddGateCommand,
    AddIoCommand, AddUploadCommand, AddAdviseCommand, AddTransformsCommand;
// Plays this program's own loaders as `sluice-bench compare` runs them, each in its own process.
// Hidden from --help.
AddCommand AddContendCommand;

inline constexpr AddCommand* kCommands[] = {
    AddEpochCommand,   AddCompareCommand,   AddAdviseCommand, AddGateCommand,
    AddDecodeCommand,  AddConvertCommand,   AddIoCommand,     AddUploadCommand,
    AddContendCommand, AddTransformsCommand};

}  // namespace sluice::bench
