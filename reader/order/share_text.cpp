#include "reader/order/share_text.h"

namespace sluice {

std::string ShareText(const Rank& rank, std::uint64_t samples, std::uint64_t of_samples) {
  if (rank.world_size <= 1) return {};
  const bool found = !rank.variables.empty();
  return "rank " + std::to_string(rank.rank) + " of " + std::to_string(rank.world_size) + " (" +
         (found ? "from the environment: " + std::string(rank.variables)
                : std::string("LoaderOptions::ranks.rank and world_size")) +
         ") plays " + std::to_string(samples) + " of " + std::to_string(of_samples) +
         " samples an epoch" +
         (found ? "; a loader that is to play all of them alone, as for validation on one rank, "
                  "needs LoaderOptions::ranks.world_size = 1"
                : "");
}

}  // namespace sluice
