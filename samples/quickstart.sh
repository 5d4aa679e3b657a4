#!/bin/sh
# From a fresh machine to an epoch of batches: samples/quickstart.sh [FOLDER]
#
# Installs missing packages, builds Sluice into build/release, converts FOLDER, verifies the dataset, trains a
# small classifier from it and measures epochs. FOLDER has one sub-folder for each class; without FOLDER, the
# script draws 600 pictures. All output lies under build/. Run the script again to resume.
set -eu
usage() { printf '%s\n' "usage: samples/quickstart.sh [FOLDER]" >&2; exit 2; }
[ $# -le 1 ] || usage
photos=
case ${1-} in
  "") ;;
  -*) usage ;;
  *)
    [ -d "$1" ] || { printf '%s\n' "quickstart: there is no folder '$1'" >&2; exit 2; }
    photos=$(cd "$1" && pwd -P)
    ;;
esac
cd "$(dirname "$0")/.."
build=build/release
work=build/quickstart

step() { printf '\n%s\n' "== $*"; }
run() {
  printf '%s\n' "\$ $*"
  "$@"
}

step "System packages"
tools/setup.sh build

step "Building into $build"
# The tests need more packages, so this leaves them out; tests/run.sh adds them to the same build folder.
run cmake --log-level=NOTICE --preset release -DSLUICE_BUILD_TESTS=OFF
run cmake --build $build --target sluice_command sluice_bench make_photos train_softmax

if [ -n "$photos" ]; then
  # Each source folder gets its own name, so that two folders with the same last part do not collide.
  dataset=$work/$(basename "$photos")-$(printf %s "$photos" | cksum | cut -d ' ' -f 1)
else
  dataset=$work/dataset
  step "Making pictures: 10 classes of 60"
  # The folder gets its name once it is complete, so that a run after an interruption makes it again.
  photos=$work/photos
  if [ -d $photos ]; then
    printf '%s\n' "$photos is there"
  else
    rm -rf $photos.part
    run $build/samples/make_photos $photos.part 10 60 500
    mv $photos.part $photos
  fi
fi

mkdir -p $work
step "Converting $photos"
left_out=0
run $build/tools/sluice convert "$photos" "$dataset" || left_out=$?
# 3: converted, except for some broken images, which the summary above lists.
if [ $left_out != 0 ] && [ $left_out != 3 ]; then exit $left_out; fi

step "Checking the dataset, every image decoded"
run $build/tools/sluice verify --decode "$dataset"

step "Training a softmax classifier on it (samples/train_softmax.cpp)"
if [ "$(find -L "$photos" -mindepth 1 -maxdepth 1 -type d ! -name '.*' | wc -l)" -gt 1 ]; then
  run $build/samples/train_softmax "$dataset" 10
else
  printf '%s\n' "$photos has no classes to tell apart (one sub-folder each): left out"
fi

step "Measuring epochs"
run $build/bench/sluice-bench epoch "$dataset" --epochs 3 --batch-size 64 --transform rrc:224,flip

step "Done. The dataset is $dataset; to look into it:"
printf '%s\n' "$build/tools/sluice inspect $dataset"
