#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sluice/error.h>
#include <sluice/rank.h>

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

// Of the first pair, one variable without the other: it would pass for a process that trains alone.
// (The other launchers set single variables in places that are no rank, such as Slurm's scripts.)
void RefuseHalf() {
  const char* const rank = std::getenv(kPairs[0].rank);
  const char* const size = std::getenv(kPairs[0].size);
  if ((rank == nullptr) == (size == nullptr)) return;
  if (size != nullptr && std::string_view(size) == "1") return;
  throw Error(ErrorCode::kInvalidArgument,
              std::string("the environment says ") +
                  (rank != nullptr ? std::string("RANK=") + rank + ", but not WORLD_SIZE"
                                   : std::string("WORLD_SIZE=") + size + ", but not RANK") +
                  ", so which share of the samples is this process's is not known; set both, or "
                  "neither, or set LoaderOptions::ranks.rank and world_size (1 for a process that "
                  "trains alone)");
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
  RefuseHalf();
  return {};
}

}  // namespace sluice
