// A process's rank among the processes that train together.
#pragma once

#include <string_view>

namespace sluice {

// Which of the processes this is, and how many there are.
struct Rank {
  unsigned rank = 0;        // 0 to world_size - 1
  unsigned world_size = 1;  // processes that train together
  // The environment variables that gave the rank, such as "RANK, WORLD_SIZE"; empty if none did.
  std::string_view variables = {};

  // Reads the variables that launchers set. These pairs are tried in turn: RANK and WORLD_SIZE
  // (torchrun and others), OMPI_COMM_WORLD_RANK and _SIZE (Open MPI), PMI_RANK and PMI_SIZE (MPICH
  // and its kin), SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun; a batch script itself is not a
  // rank). The first pair of which both variables are set counts; {0, 1} if there is none. Throws
  // Error(kInvalidArgument), which names the variables, if their values make no sense; also, if no
  // pair is complete, when RANK is set without WORLD_SIZE, or when a WORLD_SIZE other than 1 is set
  // without RANK.
  static Rank FromEnvironment();

  // Ignores `variables`.
  friend bool operator==(const Rank& a, const Rank& b) noexcept {
    return a.rank == b.rank && a.world_size == b.world_size;
  }
};

}  // namespace sluice
