#!/bin/sh
# Converts on a Slurm cluster: samples/cluster/slurm.sh [SBATCH-OPTION... --] PARTS SOURCE DATASET [OPTION...]
#
#   samples/cluster/slurm.sh -p cpu --time 2:00:00 -- 64 /data/photos /data/photos.sluice --image packed
#
# Plans here, then submits an array of PARTS jobs, and a last job that waits for them. Prints the last job's
# number; `sluice status DATASET --watch` shows the progress. Slurm puts the parts of a lost node back into the
# queue (--requeue); they resume. If a part fails for good, the last job is cancelled: run the script again to
# make the missing parts. SOURCE and DATASET are on a file system that all nodes see. The OPTIONS are those of
# `sluice plan`.
set -eu
. "$(dirname "$0")/own_options.sh"
[ $# -ge 3 ] || usage
parts=$1 source=$2 dataset=$3
shift 3

sluice plan "$source" "$dataset" "$@" >&2
eval "set -- $own"
dataset=$(everywhere "$dataset")
named=$(quote "$dataset")
array=$(sbatch --parsable --requeue --array="0-$((parts - 1))" --job-name=sluice-part "$@" \
  --wrap "sluice convert --part \$SLURM_ARRAY_TASK_ID/$parts --threads \${SLURM_CPUS_PER_TASK:-1}$named")
# Exit code 3: broken sources were left out, which is not a failure here.
sbatch --parsable --requeue --job-name=sluice-finish --dependency="afterok:${array%%;*}" \
  --kill-on-invalid-dep=yes "$@" --wrap "sluice finish$named || [ \$? = 3 ]"
