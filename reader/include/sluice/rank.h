// A process's rank among the processes that train together.
#pragma once

#include <string_view>

namespace sluice {

// The number of this process among the processes that train together, and how many there are.
struct Rank {
  unsigned rank = 0;        // 0 to world_size - 1
  unsigned world_size = 1;  // the number of processes that train together
  // The environment variables that gave the rank, such as "RANK, WORLD_SIZE"; empty if none did.
  std::string_view variables = {};

  // Reads the environment variables that launchers set. The first of these pairs with both
  // variables set gives the rank:
  //
  //   RANK, WORLD_SIZE                    torchrun and others
  //   OMPI_COMM_WORLD_RANK and _SIZE      Open MPI
  //   PMI_RANK, PMI_SIZE                  MPICH and its relatives
  //   SLURM_PROCID, SLURM_STEP_NUM_TASKS  srun (a batch script itself is not a rank)
  //
  // If no pair is complete, the result is {0, 1}. Throws Error(kInvalidArgument), which names the
  // variables, if
  //
  //   RANK is set without WORLD_SIZE;
  //   WORLD_SIZE is set without RANK, and is not 1;
  //   the values of a pair make no sense.
  static Rank FromEnvironment();

  // Ignores `variables`.
  friend bool operator==(const Rank& a, const Rank& b) noexcept {
    return a.rank == b.rank && a.world_size == b.world_size;
  }
};

}  // namespace sluice
