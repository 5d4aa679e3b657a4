#!/bin/sh
# Everything that wants an NVIDIA card, on a machine that has one and perhaps no network:
#
#   bench/device_day.sh pack BUILD FOLDER [PICTURES]   # where Sluice was built (x86-64, with CUDA and tests)
#   FOLDER/device_day.sh run OUT [STAGE...]            # where the card is
#   FOLDER/device_day.sh table OUT... [--price N] [--plot FILE.svg]   # anywhere: what was found, as Markdown
#
# `pack` fills FOLDER with the programs of BUILD (a build folder, Release), the shared libraries they need
# but for the C and C++ ones, what train_cifar is compiled and linked with, and its source; compressed, and
# less than 64 MiB in all. PICTURES is for train_cifar: CIFAR-10 as train/CLASS/*.jpg and test/CLASS/*.jpg.
#
# `run` needs NVIDIA's driver; compute-sanitizer and ncu (on the PATH or in the toolkit's folder) to look
# into kernels, and for the training a python3 with torch (and torchvision, to compare with) and g++: what is
# missing of these is skipped. Stages, each of which ends within ten minutes:
#
#   check                                       is it right: the tests
#   decode                                      whole epochs that the card decodes; nvJPEG
#   epoch                                       whole epochs to the card that the host decodes
#   cores_decode, cores                         on 1, 2, 4, ... cores, decoded by the card and by the host
#   upload                                      copies and conversions alone
#   profiles_decode, profiles                   how many pretend accelerators this machine feeds, likewise
#   train, peers                                ResNet-9 on CIFAR-10; the same from other loaders
#   memcheck, racecheck, initcheck, synccheck   compute-sanitizer, one stage for each of its tools
#   kernels                                     what holds them back, by ncu
#
# All of them in this order unless some are named. Each part has a limit of its own, and all together end
# within DEVICE_DAY_SECONDS (560, unless the environment says otherwise); parts that no time is left for are
# skipped: name one or two stages at a time. OUT gets summary.tsv (part, exit code, seconds) and, as they are
# written, parts/PART.log (what it said) and parts/PART.json (what it measured). Cut off at any point, it
# keeps those, and `run` with the same OUT goes on with parts that have not succeeded yet. Ends with 1 where a
# part failed or was left out for time.
#
# `table` reads as many OUTs as there are, the last that succeeded of a part counts. --price: of an hour of
# the machine, for what trainings cost; --plot FILE.svg draws them.
#
# The environment may set DEVICE_DAY_PHOTOS, made-up pictures in each of ten classes (400).
#
# No card has run it yet. Without one, a test runs it on CUDA's double (tests/device/cuda_double), and train_cifar
# compiled against torch and trained on the processor.
set -eu
usage() { sed -n '4,6s/^# *//p' "$0" >&2; exit 2; }

# Libraries that the machine has its own of.
system_libraries='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so'

pack() {
  mkdir -p "$2"
  build=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) pictures=${3-}
  [ -x "$build/tests/device/sluice_cuda_tests" ] || {
    printf '%s\n' "device_day: $1 holds no tests for a card; configure it with --preset cuda -DSLUICE_BUILD_TESTS=ON" >&2
    exit 1
  }
  here=$(cd "$(dirname "$0")/.." && pwd)
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage/bin" "$stage/lib" "$stage/include" "$stage/samples" "$stage/peers"
  for program in tests/device/sluice_cuda_tests tests/device/sluice_device_tests bench/sluice-bench \
    tools/sluice samples/make_photos samples/stream_cuda; do
    strip -o "$stage/bin/${program##*/}" "$build/$program"
    ldd "$build/$program"
  done | libraries_of_ldd "$stage/lib"
  cp "$build"/reader/libsluice_reader.a "$build"/format/libsluice_format.a "$stage/lib/"
  [ ! -f "$build/format/remote/libsluice_remote.a" ] || cp "$build/format/remote/libsluice_remote.a" "$stage/lib/"
  strip -g "$stage"/lib/*.a
  cudart=$(sed -n 's/^CUDA_cudart_static_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
  cp "$cudart" "$stage/lib/"
  # The headers that the runtime's own takes.
  headers=$(cd "$(dirname "$cudart")/../include" && pwd)
  mkdir -p "$stage/include/cuda"
  echo '#include <cuda_runtime_api.h>' | c++ -x c++ -M -I"$headers" - | tr ' ' '\n' |
    sed -n "s|^$headers/||p" | (cd "$headers" && xargs cp --parents -t "$stage/include/cuda")
  cp -R "$here/format/include/sluice" "$here/reader/include/sluice" "$stage/include/"
  cp "$(pkg-config --variable=includedir libturbojpeg)/turbojpeg.h" "$stage/include/"
  cp "$here"/samples/train_cifar.cpp "$here"/samples/train_cifar_batches.h \
    "$here"/samples/plain_loader.h "$stage/samples/"
  cp "$here"/bench/peers/train_cifar.py "$here"/bench/peers/decode_nvjpeg.py "$stage/peers/"
  # Programs that share much code, and small files much alike: far less than half of what they take.
  tar -C "$stage" -cf - . | zstd -q -12 --long=27 -T0 -f -o "$folder/programs.tar.zst"
  [ -z "$pictures" ] ||
    tar -C "$pictures" -cf - train test | zstd -q -19 --long=27 -T0 -f -o "$folder/pictures.tar.zst"
  mkdir -p "$folder/zstd"
  cp "$(command -v zstd)" "$folder/zstd/"
  ldd "$folder/zstd/zstd" | libraries_of_ldd "$folder/zstd"
  cp "$0" "$here/bench/device_day_table.py" "$folder/"
  bytes=$(du -sb "$folder" | cut -f 1)
  printf '%s: %s bytes\n' "$folder" "$bytes"
  [ "$bytes" -lt 67108864 ] || {
    printf '%s\n' "device_day: that is more than 64 MiB, the most that may travel" >&2
    exit 1
  }
}

# Copies the libraries in the output of ldd, but for those of every machine.
libraries_of_ldd() {
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -Ev "$system_libraries" |
    xargs -I{} cp -L {} "$1/"
}

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds, unless an earlier run has done it. What it
# says and what it measures, if it takes --json-file, goes to where it is kept as it comes.
part() {
  name=$1 limit=$2
  shift 2
  if grep -q "^$name	0	" "$out/summary.tsv"; then return; fi
  left=$((deadline - $(date +%s)))
  if [ "$left" -lt 5 ]; then
    skip "$name" "no time left"
    failed=1
    return
  fi
  [ "$limit" -le "$left" ] || limit=$left
  # Programs of ours find the libraries packed; nobody else does.
  if [ -x "$folder/bin/$1" ]; then
    program=$folder/bin/$1
    shift
    set -- env "LD_LIBRARY_PATH=$libraries" "$program" "$@"
  fi
  log=$out/parts/$name.log
  rm -f "$out/parts/$name.json"
  printf '== %s\n' "$*" >"$log"
  begin=$(date +%s) code=0
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1 </dev/null || code=$?
  printf '%s\t%s\t%s\n' "$name" $code $(($(date +%s) - begin)) | tee -a "$out/summary.tsv"
  tail -n 4 "$log" | cut -c 1-100 | sed 's/^/    /'
  [ $code = 0 ] || failed=1
}
# Like part, of a sluice-bench that writes its result as JSON.
bench() {
  of=$1 for=$2
  shift 2
  part "$of" "$for" sluice-bench "$@" --json-file "$out/parts/$of.json"
}
# Of what this machine may lack.
skip() { printf '%s\tskipped: %s\t0\n' "$1" "$2" | tee -a "$out/summary.tsv"; }

# Where a tool of the toolkit is: on the PATH, or in the folders that installers put it in. Fails if nowhere.
tool() {
  for place in "$(command -v "$1" || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/$1" /usr/local/cuda*/bin/"$1" \
    /usr/local/cuda*/compute-sanitizer/"$1" /usr/local/cuda*/nsight-compute*/"$1" \
    /opt/nvidia/nsight-compute/*/"$1"; do
    if [ -x "$place" ]; then
      echo "$place"
      return
    fi
  done
  return 1
}

check() {
  part card 20 nvidia-smi -q
  part cuda_tests 240 sluice_cuda_tests --durations yes
  if grep -q 'skipped: there is no CUDA device' "$out/parts/cuda_tests.log"; then
    forget cuda_tests
    printf '%s\n' "device_day: no card can be used here" >&2
    exit 1
  fi
  part cuda_jpegs 120 sluice_cuda_tests "*JPEGs are decoded*" --durations yes
  part device_tests 200 sluice_device_tests
}

sanitize() {
  if sanitizer=$(tool compute-sanitizer); then
    part "$1" 540 env "LD_LIBRARY_PATH=$libraries" "$sanitizer" --tool "$1" --print-limit 20 \
      --error-exitcode 9 "$folder/bin/sluice_cuda_tests" "*host's*"
  else
    skip "$1" "compute-sanitizer is not installed"
  fi
}
memcheck() { sanitize memcheck; }
racecheck() { sanitize racecheck; }
initcheck() { sanitize initcheck; }
synccheck() { sanitize synccheck; }

steps=jitter:0.4/0.4/0.4/0.1,gray:0.2,solarize:128
whole=randaug:2/9,blur:23/0.1/2,equalize:0.5,sharpness:2  # steps that look at whole pictures

upload() {
  bench upload 60 upload
  bench upload_bf16 60 upload --normalize bf16 --layout nchw
  bench upload_f32 60 upload --normalize f32 --layout nchw
  bench upload_steps 60 upload --transform $steps --normalize bf16 --layout nchw
  bench upload_whole 60 upload --transform $whole --normalize bf16 --layout nchw
  bench upload_blur 60 upload --transform blur:23/0.1/2 --normalize bf16 --layout nchw
}

kernels() {
  if ! profiler=$(tool ncu); then
    skip kernels "ncu is not installed"
    return
  fi
  for job in "bf16 " "steps --transform $steps" "whole --transform $whole" "blur --transform blur:23/0.1/2"; do
    # shellcheck disable=SC2086  # words
    part "ncu_${job%% *}" 130 env "LD_LIBRARY_PATH=$libraries" "$profiler" --clock-control none \
      --section SpeedOfLight --section LaunchStats --section Occupancy --section WarpStateStats \
      --section MemoryWorkloadAnalysis --kernel-name regex:Convert --launch-skip 4 --launch-count 3 \
      "$folder/bin/sluice-bench" upload --batches 8 --rounds 1 ${job#* } --normalize bf16 --layout nchw
  done
  photos
  for form in jpeg packed; do
    part "ncu_decode_$form" 130 env "LD_LIBRARY_PATH=$libraries" "$profiler" --clock-control none \
      --section SpeedOfLight --section LaunchStats --section Occupancy --section WarpStateStats \
      --section MemoryWorkloadAnalysis --launch-skip 8 --launch-count 8 "$folder/bin/sluice-bench" epoch \
      "$work/data/$form" --device cuda:0 --device-decode device --transform rrc:224,flip --epochs 1 --warm-up 0
  done
}

photos() {
  part make_photos 60 make_photos "$work/photos" 10 "${DEVICE_DAY_PHOTOS:-400}" 500
  part convert_jpeg 60 sluice convert "$work/photos" "$work/data/jpeg"
  part convert_packed 60 sluice convert --image packed "$work/photos" "$work/data/packed"
  part convert_raw 60 sluice convert --image raw --size 256 "$work/photos" "$work/data/raw"
}
# What a run makes lies in its own folder: an earlier run's is gone.
forget() {
  grep -v "^\($1\)	" "$out/summary.tsv" >"$work/summary" || true
  cp "$work/summary" "$out/summary.tsv"
}

epoch() {
  photos
  augment=rrc:224,flip,jitter:0.4/0.4/0.4,normalize:bf16
  data=$work/data/packed
  for round in 1 2 3; do
    bench epoch_host_$round 40 epoch "$data" --repeat 40 --transform rrc:224,flip
    bench epoch_cuda_$round 40 epoch "$data" --repeat 40 --transform rrc:224,flip --device cuda:0
    bench epoch_cuda_steps_$round 40 epoch "$data" --repeat 40 --transform $augment --device cuda:0
  done
  bench epoch_host_steps 40 epoch "$data" --repeat 40 --transform $augment
  bench epoch_cuda_host_steps 40 epoch "$data" --repeat 40 --transform $augment --device cuda:0 --device-steps host
  # A training that is slower than the loader: whatever it waits, it waits for uploads.
  bench epoch_cuda_step 60 epoch "$data" --repeat 10 --transform rrc:224,flip,normalize:bf16 --device cuda:0 --step-ms 25
  part stream_cuda 40 stream_cuda "$data" 10
}

on_card='--device cuda:0 --device-decode device'

# Each says what the card, the bus and the CPUs did.
# shellcheck disable=SC2086  # words
decode() {
  photos
  for form in jpeg packed raw; do
    for threads in 1 2 "$(nproc)"; do
      bench decode_${form}_$threads 60 epoch "$work/data/$form" --repeat 40 --transform rrc:224,flip,normalize:bf16 \
        --layout nchw --threads $threads $on_card
    done
  done
  # The dataset lies on the card, or in page-locked memory: two threads send what was drawn.
  for form in jpeg packed raw; do
    for where in device page_locked; do
      bench stored_${where}_${form}_2 60 epoch "$work/data/$form" --repeat 40 \
        --transform rrc:224,flip,normalize:bf16 --layout nchw --threads 2 $on_card --device-images $where
    done
  done
  # What a trainer waits for batches, if it is slower than the loader.
  bench decode_step 60 epoch "$work/data/jpeg" --repeat 10 --transform rrc:224,flip,normalize:bf16 $on_card --step-ms 25
  if python3 -c 'import torchvision' 2>/dev/null; then
    part nvjpeg 60 python3 "$folder/peers/decode_nvjpeg.py" "$work/photos"
    part nvjpeg_crops 60 python3 "$folder/peers/decode_nvjpeg.py" --crop 224 "$work/photos"
  else
    skip nvjpeg "python3 has no torchvision"
  fi
}

# 1,2,4,... as far as there are cores.
counts_of_cores() {
  counts=1 count=2
  while [ $count -le "$(nproc)" ]; do
    counts=$counts,$count count=$((2 * count))
  done
  echo $counts
}

cores() {
  photos
  counts=$(counts_of_cores)
  for form in jpeg packed raw; do
    bench cores_host_$form 90 epoch "$work/data/$form" --repeat 4 --transform rrc:224,flip --threads "$counts"
    bench cores_cuda_$form 90 epoch "$work/data/$form" --repeat 4 --transform rrc:224,flip --threads "$counts" --device cuda:0
  done
}
# shellcheck disable=SC2086  # words
cores_decode() {
  photos
  for form in jpeg packed; do
    bench cores_decode_$form 150 epoch "$work/data/$form" --epochs 2 --repeat 20 --transform rrc:224,flip \
      --threads "$(counts_of_cores)" $on_card
  done
}

# feeds NAME [OPTION...]
feeds() {
  prefix=$1
  shift
  photos
  for form in packed jpeg; do
    for profile in mlperf-resnet50-h100 retinanet-b200; do
      bench "${prefix}_${form}_$profile" 120 epoch "$work/data/$form" --transform rrc:224,flip \
        --profile $profile --find-accelerators "$@"
    done
  done
}
profiles() { feeds feeds; }
# shellcheck disable=SC2086  # words
profiles_decode() { feeds feeds_decode $on_card; }

# Against the torch of python3, with the libraries packed.
build_train_cifar() {
  torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  remote=$folder/lib/libsluice_remote.a
  [ -f "$remote" ] || remote=
  # shellcheck disable=SC2086  # none or one
  part build_train_cifar 200 g++ -std=c++20 -O1 "$folder/samples/train_cifar.cpp" -o "$work/train_cifar" \
    -I"$folder/include" -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" \
    -isystem "$folder/include/cuda" -idirafter "$torch/../nvidia/cu13/include" \
    "$folder/lib/libsluice_reader.a" $remote "$folder/lib/libsluice_format.a" -Wl,--as-needed "$folder"/lib/*.so* \
    "$folder/lib/libcudart_static.a" -L"$torch/lib" -Wl,--no-as-needed -ltorch -ltorch_cuda -ltorch_cpu -lc10 \
    -lc10_cuda -Wl,--allow-shlib-undefined -Wl,-rpath,"$torch/lib:$folder/lib" -ldl -lrt -lpthread
}

# Pictures and programs of the training; fails where something is missing.
cifar() {
  if ! python3 -c 'import torch' 2>/dev/null; then
    skip "$1" "python3 has no torch"
    return 1
  fi
  if [ ! -r "$packed/pictures.tar.zst" ]; then
    skip "$1" "no pictures packed"
    return 1
  fi
  [ -x "$work/train_cifar" ] || build_train_cifar
  [ -d "$work/train" ] || unpack "$packed/pictures.tar.zst" "$work"
  train="$work/train_cifar"
  if [ ! -x "$train" ]; then
    skip "$1" "train_cifar is not built"
    return 1
  fi
}

train() {
  cifar train || return 0
  for half in train test; do
    part cifar_$half 40 sluice convert --quality keep "$work/$half" "$work/data/$half"
    part cifar_raw_$half 40 sluice convert --image raw "$work/$half" "$work/data/raw_$half"
  done
  # To the end, which is to be an accuracy of 93.5%.
  part train_jpeg 150 "$train" "$work/data/train" "$work/data/test"
  part train_raw 150 "$train" "$work/data/raw_train" "$work/data/raw_test"
  # What an epoch takes without a loader.
  part train_repeat 60 "$train" --loader repeat --epochs 8 "$work/data/raw_train" "$work/data/raw_test"
}

peers() {
  cifar peers || return 0
  part train_naive 80 "$train" --loader naive --epochs 5 "$work/train" "$work/test"
  part train_naive_one 80 "$train" --loader naive --threads 1 --epochs 2 "$work/train" "$work/test"
  part train_torch 150 python3 "$folder/peers/train_cifar.py" --epochs 4 "$work/train" "$work/test"
  part train_torch_on_card 150 python3 "$folder/peers/train_cifar.py" --on-card "$work/train" "$work/test"
}

# Of zstd's tar archives, with the zstd packed.
unpack() {
  LD_LIBRARY_PATH=$packed/zstd "$packed/zstd/zstd" -dcq --long=27 "$1" >"$work/unpacked.tar"
  tar -C "$2" -xf "$work/unpacked.tar"
  rm "$work/unpacked.tar"
}

run() {
  out=$1
  shift
  stages='check decode epoch cores_decode cores upload profiles_decode profiles train peers memcheck racecheck
    initcheck synccheck kernels'
  # shellcheck disable=SC2086  # words
  [ $# -gt 0 ] || set -- $stages
  for stage; do
    case " $stages " in *" $stage "*) ;; *) usage ;; esac
  done
  packed=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$out/parts"
  out=$(cd "$out" && pwd)
  touch "$out/summary.tsv"
  deadline=$(($(date +%s) + ${DEVICE_DAY_SECONDS:-560}))
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 143' INT TERM HUP
  folder=$work/programs
  mkdir "$work/data" "$folder"
  unpack "$packed/programs.tar.zst" "$folder"
  libraries=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  forget 'make_photos\|convert_.*\|cifar_.*\|build_train_cifar'
  failed=0
  for stage; do
    $stage
  done
  exit $failed
}

case ${1-},$# in
  pack,3 | pack,4) pack "$2" "$3" "${4-}" ;;
  run,1) usage ;;
  run,*) shift; run "$@" ;;
  table,1) usage ;;
  table,*) shift; exec python3 "$(dirname "$0")/device_day_table.py" "$@" ;;
  *) usage ;;
esac
