// Targets that read whole datasets, given forged ones: see forged_dataset.h.
//
// Promises: they throw nothing but sluice::Error, never with a message of the standard library; an
// input takes no more memory and time than OnForged() allows; all values read are in range; and a
// dataset made by `repair` has no fault, except values that its writer stored wrongly.
#pragma once

#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Targets that use the dataset through the library: dataset, loader, verify, repair, subset, merge,
// transcode, append, repack.
std::span<const Target> ForgedTargets();

// The commands that only read the dataset, run as from a command line: inspect, stats, when,
// preview, export.
std::span<const Target> CommandTargets();

}  // namespace sluice::fuzz
