// Which of how many processes that train together this one is.
#pragma once

namespace sluice {

struct Rank {
  unsigned rank = 0;
  unsigned world_size = 1;

  // As the program that started this process says in its environment; {0, 1} where none does. In
  // this order: RANK and WORLD_SIZE (torchrun and others), OMPI_COMM_WORLD_RANK and _SIZE (Open
  // MPI), PMI_RANK and PMI_SIZE (MPICH and its kin), SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun; a
  // batch script itself is no rank). A pair counts where both are set. Throws
  // Error(kInvalidArgument), naming them, where they make no sense.
  static Rank FromEnvironment();

  friend bool operator==(const Rank&, const Rank&) = default;
};

}  // namespace sluice
