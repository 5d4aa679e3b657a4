#!/bin/sh
# From a fresh machine to an epoch of batches: samples/quickstart.sh [FOLDER]
#
# Installs what is missing, builds Sluice into build/release, converts FOLDER (one sub-folder for each
# class of images; without it, a folder of made-up photos), checks the dataset, trains a small
# classifier from it and measures epochs. Everything it makes lies under build/. Running it again goes
# on with what is there.
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
# The tests want more packages, so they wait for tests/run.sh, which shares this folder.
run cmake --log-level=NOTICE --preset release -DSLUICE_BUILD_TESTS=OFF
run cmake --build $build --target sluice_command sluice_bench make_photos train_softmax

if [ -n "$photos" ]; then
  # A name for each source folder, so that two with the same last part do not meet.
  dataset=$work/$(basename "$photos")-$(printf %s "$photos" | cksum | cut -d ' ' -f 1)
else
  dataset=$work/dataset
  step "Making pictures: 10 classes of 60"
  # The folder gets its name when it is whole, so that an interrupted run makes it anew.
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
# 3: converted, but for some broken images, which the summary above lists.
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
