// Which of how many processes that train together this one is.
#pragma once

#include <string_view>

namespace sluice {

struct Rank {
  unsigned rank = 0;
  unsigned world_size = 1;
  // The variables that say so, such as "RANK, WORLD_SIZE"; empty where it was not found in any.
  std::string_view variables = {};

  // As the program that started this process says in its environment; {0, 1} where none does. In
  // this order: RANK and WORLD_SIZE (torchrun and others), OMPI_COMM_WORLD_RANK and _SIZE (Open
  // MPI), PMI_RANK and PMI_SIZE (MPICH and its kin), SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun; a
  // batch script itself is no rank). A pair counts where both are set. Throws
  // Error(kInvalidArgument), naming them, where they make no sense.
  static Rank FromEnvironment();

  // Wherever it was found.
  friend bool operator==(const Rank& a, const Rank& b) noexcept {
    return a.rank == b.rank && a.world_size == b.world_size;
  }
};

}  // namespace sluice
