// A line of text about a rank's share of an epoch.
#pragma once

#include <cstdint>
#include <string>

#include <sluice/rank.h>

namespace sluice {

// "rank 1 of 4 (from the environment: RANK, WORLD_SIZE) plays 250 of 1000 samples an epoch; ...";
// empty for a process that plays alone.
std::string ShareText(const Rank& rank, std::uint64_t samples, std::uint64_t of_samples);

}  // namespace sluice
