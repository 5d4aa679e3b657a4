#!/bin/sh
# Counts the instructions of decoding a picture in each way. Unlike times, the counts are the same on a busy
# machine and on every machine of a kind:
#   bench/notebook/count_instructions.sh BUILD FOLDER [TRANSFORM...]
#
# BUILD is a build folder with sluice, sluice-bench and make_photos; FOLDER is for the pictures (60 of make_photos,
# 500 pixels, as `sluice convert` stores them). Prints a table as in bench/MEASURED.md. Needs valgrind. Each way
# runs twice, the second time with two more rounds, so that the difference counts only decoding.
set -eu
usage() { printf '%s\n' "usage: count_instructions.sh BUILD FOLDER [TRANSFORM...]" >&2; exit 2; }
[ $# -ge 2 ] || usage
build=$1
folder=$2
shift 2
[ $# -gt 0 ] || set -- rrc:224 short:256,center:224
[ -x "$build/bench/sluice-bench" ] || { printf '%s\n' "there is no $build/bench/sluice-bench" >&2; exit 1; }
command -v valgrind > /dev/null || { printf '%s\n' "valgrind is not installed" >&2; exit 1; }

images=60
pixels=$((224 * 224)) # of the output
if [ ! -d "$folder/photos" ]; then
  mkdir -p "$folder"
  rm -rf "$folder/photos.part"
  "$build/samples/make_photos" "$folder/photos.part" 10 6 500 > /dev/null
  mv "$folder/photos.part" "$folder/photos"
fi
"$build/tools/sluice" convert "$folder/photos" "$folder/dataset" --quiet > /dev/null

instructions() { # instructions TRANSFORM WAY ROUNDS
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench/sluice-bench" decode "$folder/dataset" \
    --transform "$1" --only "$2" --rounds "$3" --images $images --quality-images 0 2>&1 > /dev/null |
    sed -n 's/^==.*Collected *: *\([0-9][0-9]*\).*/\1/p'
}

printf '%s\n' "| transform | way | million instructions a picture | instructions a pixel that comes out | times as few as libjpeg |" "| --- | --- | --- | --- | --- |"
for transform in "$@"; do
  first=
  # Only the ways that this machine supports.
  for way in libjpeg planes own-plain own-avx2 own-avx512 own-neon own-serial packed-plain packed-avx2 packed-avx512 packed-neon to-planes; do
    few=$(instructions "$transform" $way 1)
    [ -n "$few" ] || continue
    many=$(instructions "$transform" $way 3)
    each=$(((many - few) / (2 * images)))
    [ $each -gt 0 ] || continue
    first=${first:-$each}
    awk -v transform="$transform" -v way=$way -v each=$each -v pixels=$pixels -v first="$first" 'BEGIN {
      printf "| %s | %s | %.2f | %.1f | %.2f |\n", transform, way, each / 1e6, each / pixels, first / each }'
  done
done
