#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sluice/error.h>
#include <sluice/rank.h>

#include "reader/order/share_text.h"

namespace sluice {

namespace {

struct Pair {
  const char* rank;
  const char* size;
  const char* both;
};
// torchrun comes first: srun or mpirun may have started one torchrun for each machine.
constexpr Pair kPairs[] = {
    {"RANK", "WORLD_SIZE", "RANK, WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "PMI_RANK, PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID, SLURM_STEP_NUM_TASKS"},
};

bool ParseUnsigned(std::string_view text, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Rank Rank::FromEnvironment() {
  for (const Pair& pair : kPairs) {
    const char* const rank = std::getenv(pair.rank);
    const char* const size = std::getenv(pair.size);
    if (rank == nullptr || size == nullptr) continue;
    Rank found;
    if (!ParseUnsigned(rank, found.rank) || !ParseUnsigned(size, found.world_size) ||
        found.rank >= found.world_size) {
      throw Error(
          ErrorCode::kInvalidArgument,
          std::string("the environment says ") + pair.rank + "=" + rank + " and " + pair.size +
              "=" + size +
              ", but a rank must be less than the world size; correct them, or set "
              "LoaderOptions::ranks.rank and world_size (1 for a process that trains alone)");
    }
    found.variables = pair.both;
    return found;
  }
  return {};
}

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
