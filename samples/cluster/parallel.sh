#!/bin/sh
# Converts by GNU parallel, here or over ssh: samples/cluster/parallel.sh [PARALLEL-OPTION... --] PARTS SOURCE DATASET [OPTION...]
#
#   samples/cluster/parallel.sh -S 4/box1,4/box2 -- 64 /data/photos /data/photos.sluice --image packed
#
# Plans, makes PARTS parts as hosts become free, and finishes. If a host fails, its part is tried on another
# host, up to three times. SOURCE and DATASET are on a file system that all hosts see, and `sluice` is on their
# PATH. The OPTIONS are those of `sluice plan`. Run the script again after a failure: it makes the missing parts.
set -eu
. "$(dirname "$0")/own_options.sh"
[ $# -ge 3 ] || usage
parts=$1 source=$2 dataset=$3
shift 3

sluice plan "$source" "$dataset" "$@"
dataset=$(everywhere "$dataset")
eval "set -- $own"
seq 0 $((parts - 1)) |
  parallel --quote --retries 3 "$@" sluice convert --quiet --threads 1 --part "{}/$parts" "$dataset"
# Exit code 3: broken sources were left out, which is not a failure here.
sluice finish "$dataset" || [ $? = 3 ]
