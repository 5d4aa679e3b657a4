// Finds a process's rank in the environment. Several launchers may have set their variables, one
// inside the other, so the order of kPairs matters.
#include <cstdlib>
#include <string>

#include <sluice/error.h>
#include <sluice/rank.h>

#include "format/ascii.h"

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

// Throws if only one of RANK and WORLD_SIZE is set, unless it is WORLD_SIZE=1: otherwise, a process
// of a group would train as if it were alone. The other pairs are not checked, because their
// launchers set one of the variables in processes that are not ranks, too, such as Slurm's batch
// scripts.
void RefuseHalf() {
  const char* const rank = std::getenv(kPairs[0].rank);
  const char* const size = std::getenv(kPairs[0].size);
  if ((rank == nullptr) == (size == nullptr)) return;
  if (size != nullptr && std::string_view(size) == "1") return;
  throw Error(
      ErrorCode::kInvalidArgument,
      std::string("the environment says ") +
          (rank != nullptr ? std::string("RANK=") + rank + ", but not WORLD_SIZE"
                           : std::string("WORLD_SIZE=") + size + ", but not RANK") +
          ", so Sluice cannot tell which share of the samples this process loads; set both, "
          "or neither, or set LoaderOptions::ranks.rank and world_size (1 for a process "
          "that trains alone)");
}

}  // namespace

Rank Rank::FromEnvironment() {
  for (const Pair& pair : kPairs) {
    const char* const rank = std::getenv(pair.rank);
    const char* const size = std::getenv(pair.size);
    if (rank == nullptr || size == nullptr) continue;
    const auto number = ParseNumber<unsigned>(rank);
    const auto all = ParseNumber<unsigned>(size);
    if (!number || !all || *number >= *all) {
      throw Error(
          ErrorCode::kInvalidArgument,
          std::string("the environment says ") + pair.rank + "=" + rank + " and " + pair.size +
              "=" + size +
              (number && all ? ", but a rank must be less than the world size"
                             : ", but both must be whole numbers") +
              "; correct or unset them, or set LoaderOptions::ranks.rank and world_size (1 for a "
              "process that trains alone)");
    }
    return {*number, *all, pair.both};
  }
  RefuseHalf();
  return {};
}

}  // namespace sluice
