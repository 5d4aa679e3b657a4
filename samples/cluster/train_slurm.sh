#!/bin/sh
# Trains on a Slurm cluster: samples/cluster/train_slurm.sh [SBATCH-OPTION... --] DATASET [OPTION...]
#
#   samples/cluster/train_slurm.sh -N 4 --ntasks-per-node 8 --gpus-per-node 8 -c 12 -- /data/photos.sluice \
#     --checkpoint /data/run1.pt --stage /local/cache
#
# Submits one job that runs train.py in each task, and prints the job's number. If the job loses a node, Slurm
# puts it back into the queue (--requeue), and it resumes from the checkpoint. The tasks meet at the first node,
# unless MASTER_ADDR and MASTER_PORT give another place. The OPTIONS are those of train.py.
set -eu
. "$(dirname "$0")/own_options.sh"
[ $# -ge 1 ] || usage
command=''
for word in "$(everywhere "$(dirname "$0")")/train.py" "$@"; do
  command=$command$(quote "$word")
done
eval "set -- $own"
sbatch --parsable --requeue --job-name=sluice-train "$@" --wrap "
  : \"\${MASTER_ADDR:=\$(scontrol show hostnames \"\$SLURM_JOB_NODELIST\" | head -n 1)}\"
  : \"\${MASTER_PORT:=\$((20000 + SLURM_JOB_ID % 10000))}\"
  export MASTER_ADDR MASTER_PORT
  [ -z \"\${SLURM_CPUS_PER_TASK:-}\" ] || export SRUN_CPUS_PER_TASK=\"\$SLURM_CPUS_PER_TASK\"
  exec srun --kill-on-bad-exit=1 ${PYTHON:-python3}$command"
