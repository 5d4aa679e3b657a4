#!/bin/sh
# Converts by Open MPI, a part for each rank: samples/cluster/mpi.sh [MPIRUN-OPTION... --] SOURCE DATASET [OPTION...]
#
#   samples/cluster/mpi.sh -n 64 --hostfile hosts -- /data/photos /data/photos.sluice --image packed
#
# Plans, lets mpirun start the ranks, and finishes. If a rank dies, mpirun ends the others: run the script again
# to make the missing parts. To start the ranks by srun, write `srun -n 64` below in place of mpirun; each rank then
# takes its number from SLURM_PROCID and SLURM_NTASKS. SOURCE and DATASET are on a file system that all hosts see. The
# OPTIONS are those of `sluice plan`.
set -eu
. "$(dirname "$0")/own_options.sh"
[ $# -ge 2 ] || usage
source=$1 dataset=$2
shift 2

sluice plan "$source" "$dataset" "$@"
dataset=$(everywhere "$dataset")
eval "set -- $own"
# shellcheck disable=SC2016  # for the ranks' shells
mpirun "$@" sh -c 'rank=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID} ranks=${OMPI_COMM_WORLD_SIZE:-$SLURM_NTASKS}
  exec sluice convert --quiet --threads 1 --part "$rank/$ranks" "$1"' sh "$dataset"
# Exit code 3: broken sources were left out, which is not a failure here.
sluice finish "$dataset" || [ $? = 3 ]
