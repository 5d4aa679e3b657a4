// What reads whole datasets, over forged ones: see forged_dataset.h.
//
// What is promised: nothing but sluice::Error comes out, without a word of the standard library's;
// an input takes no more memory and time than Bound says; what is read is in range; and what
// `repair` makes is without a fault.
#pragma once

#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// dataset, loader, verify, repair, subset, merge, transcode, append, repack.
std::span<const Target> ForgedTargets();

// The commands that read, as their options are parsed: inspect, stats, preview, export.
std::span<const Target> CommandTargets();

}  // namespace sluice::fuzz
