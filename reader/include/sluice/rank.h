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

  // Reads the environment variables that launchers set. The first of these pairs of which both
  // variables are set counts:
  //
  //   RANK, WORLD_SIZE                    torchrun and others
  //   OMPI_COMM_WORLD_RANK and _SIZE      Open MPI
  //   PMI_RANK, PMI_SIZE                  MPICH and its relatives
  //   SLURM_PROCID, SLURM_STEP_NUM_TASKS  srun (a batch script itself is not a rank)
  //
  // If no pair is complete, the result is {0, 1}. But if RANK is set without WORLD_SIZE, or a
  // WORLD_SIZE other than 1 without RANK, this throws Error(kInvalidArgument). The same Error is
  // thrown if the values of a pair make no sense. It names the variables.
  static Rank FromEnvironment();

  // Ignores `variables`.
  friend bool operator==(const Rank& a, const Rank& b) noexcept {
    return a.rank == b.rank && a.world_size == b.world_size;
  }
};

}  // namespace sluice
