// The sub-commands of sluice-bench; each one's --help describes it.
//
// A new one takes a folder of its name with command.cpp, its line here, in sluice_bench.cpp and in
// CMakeLists.txt, its place in README.md and report/SCHEMA.md, and a test in tests/tools/.
#pragma once

#include "tools/cli/program.h"

namespace sluice::bench {

cli::Command AddAdviseCommand(CLI::App& program);
cli::Command AddCompareCommand(CLI::App& program);
// The loaders of this program as `sluice-bench compare` runs them, each in its own process. Not in
// --help.
cli::Command AddContendCommand(CLI::App& program);
cli::Command AddConvertCommand(CLI::App& program);
cli::Command AddDecodeCommand(CLI::App& program);
cli::Command AddEpochCommand(CLI::App& program);
cli::Command AddGateCommand(CLI::App& program);
cli::Command AddIoCommand(CLI::App& program);
cli::Command AddOrderCommand(CLI::App& program);
cli::Command AddTransformsCommand(CLI::App& program);
cli::Command AddUploadCommand(CLI::App& program);

}  // namespace sluice::bench
