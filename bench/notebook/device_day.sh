#!/bin/sh
# Everything that needs an NVIDIA card, on a machine that has one and perhaps no network:
#
#   bench/notebook/device_day.sh pack BUILD FOLDER [--cifar DIR] [--photos DIR] [--wheel FILE]   # where Sluice was built
#   FOLDER/device_day.sh run OUT [STAGE...]            # where the card is
#   FOLDER/device_day.sh table OUT... [--price N] [--plot FILE.svg]   # anywhere: what was found, as Markdown
#
# `pack` fills FOLDER with the programs of BUILD (a build folder: x86-64, Release, with CUDA and tests), the shared
# libraries that they need except the C and C++ ones, and the source of train_cifar with the headers and libraries to
# build it: compressed, less than 60 MiB in all. --cifar: pictures for train_cifar, CIFAR-10 as train/CLASS/*.jpg and
# test/CLASS/*.jpg. --photos: a folder of pictures, of which 400 are packed as `sluice convert` stores them by
# default; without it, the run draws pictures. --wheel: the Python package, for the python3 of the machine with the
# card. For a small pack, configure BUILD with -DSLUICE_CUDA_TARGETS=sm_90 and without AVIF, HEIF, JXL, JP2 and REMOTE.
#
# `run` needs NVIDIA's driver. To look into kernels it needs compute-sanitizer and ncu (on the PATH or in the
# toolkit's folder); for the training, a python3 with torch (and torchvision, to compare with) and g++. Stages that
# need something that is missing are skipped. Stages:
#
#   check                                       the tests, which say whether results are right
#   decode                                      whole epochs that the card decodes
#   nvjpeg                                      torchvision's decoding on the card
#   epoch                                       whole epochs that the host decodes and copies to the card
#   cores_decode, cores                         on 1, 2, 4, ... cores, decoded by the card and by the host
#   upload                                      copies and conversions alone, next to bare copies and torch's copies
#   conversions                                 more conversions
#   profiles_decode, profiles                   how many pretend accelerators this machine feeds if the card decodes,
#                                               and if the host does
#   train, peers                                ResNet-9 on CIFAR-10; the same from other loaders
#   resnet18                                    ResNet-18 at 224: DataLoader, Sluice, one batch again and again
#   memcheck, racecheck, initcheck, synccheck   compute-sanitizer, one stage for each of its tools
#   decode_kernels                              how long the card's kernels take, and what holds them back, by ncu
#   kernels                                     the same for the kernels of conversions
#
# Three sets of stages take less than ten minutes each: first (check decode nvjpeg upload decode_kernels), second
# (train peers), third (resnet18). Without named stages or sets, all three run in this order. Each part has a time
# limit, and all parts together end within DEVICE_DAY_SECONDS (560 by default); parts that do not fit that time are
# skipped. OUT gets summary.tsv (part, exit code, seconds) and, while a part runs, parts/PART.log (its output) and
# parts/PART.json (its measurements); after each part, OUT.tar.gz gets all of that, too. If a run is cut off, these
# files stay, and `run` with the same OUT continues with the parts that have not succeeded yet. The table comes
# last. The exit code is 1 if a part failed or was left out for lack of time.
#
# `table` reads one or several OUTs or OUT.tar.gz; of each part, it shows the last run that succeeded. --price: the
# price of an hour of the machine, for the cost of trainings; --plot FILE.svg draws the trainings.
#
# The environment variable DEVICE_DAY_PHOTOS sets the number of made-up pictures in each of ten classes (400).
#
# A test runs this script without a card, on CUDA's double (tests/device/cuda_double), with train_cifar compiled
# against torch and trained on the CPU.
set -eu
usage() { sed -n '4,6s/^# *//p' "$0" >&2; exit 2; }

# Libraries that every machine has.
system_libraries='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so'

pack() {
  mkdir -p "$2"
  build=$(cd "$1" && pwd) folder=$(cd "$2" && pwd)
  from=$1
  shift 2
  pictures='' photos='' wheel=''
  while [ $# -ge 2 ]; do
    case $1 in
      --cifar) pictures=$2 ;;
      --photos) photos=$2 ;;
      --wheel) wheel=$2 ;;
      *) usage ;;
    esac
    shift 2
  done
  [ $# = 0 ] || usage
  [ -x "$build/tests/device/sluice_cuda_tests" ] || {
    printf '%s\n' "device_day: $from holds no tests for a card; configure it with --preset cuda -DSLUICE_BUILD_TESTS=ON" >&2
    exit 1
  }
  here=$(cd "$(dirname "$0")/../.." && pwd)
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage/bin" "$stage/lib" "$stage/include" "$stage/samples" "$stage/peers"
  for program in tests/device/sluice_cuda_tests bench/sluice-bench \
    tools/sluice samples/make_photos samples/stream_cuda; do
    strip -o "$stage/bin/${program##*/}" "$build/$program"
    ldd "$build/$program"
  done | libraries_of_ldd "$stage/lib"
  # On the day, the programs find these libraries first, and nothing else but what every machine has.
  foreign=$(for program in "$stage"/bin/*; do LD_LIBRARY_PATH=$stage/lib ldd "$program"; done |
    awk '$2 == "=>" { print $1, $3 }' | grep -Ev "$system_libraries| $stage/lib/" | sort -u)
  [ -z "$foreign" ] || {
    printf '%s\n' "device_day: a program needs libraries that are not packed:" "$foreign" >&2
    exit 1
  }
  cp "$build"/reader/libsluice_reader.a "$build"/format/libsluice_format.a "$stage/lib/"
  [ ! -f "$build/format/remote/libsluice_remote.a" ] || cp "$build/format/remote/libsluice_remote.a" "$stage/lib/"
  strip -g "$stage"/lib/*.a
  cudart=$(sed -n 's/^CUDA_cudart_static_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
  cp "$cudart" "$stage/lib/"
  # Copies the headers that cuda_runtime.h includes, since torch brings only some of them.
  headers=$(cd "$(dirname "$cudart")/../include" && pwd)
  mkdir -p "$stage/include/cuda"
  echo '#include <cuda_runtime.h>' | c++ -x c++ -M -I"$headers" - | tr ' ' '\n' |
    sed -n "s|^$headers/||p" | (cd "$headers" && xargs cp --parents -t "$stage/include/cuda")
  cp -R "$here/format/include/sluice" "$here/reader/include/sluice" "$stage/include/"
  cp "$(pkg-config --variable=includedir libturbojpeg)/turbojpeg.h" "$stage/include/"
  cp "$here"/samples/train_cifar.cpp "$here"/samples/train_cifar_batches.h \
    "$here"/samples/plain_loader.h "$stage/samples/"
  cp "$here"/bench/peers/train_cifar.py "$here"/bench/peers/decode_nvjpeg.py \
    "$here"/bench/peers/train_resnet18.py "$stage/peers/"
  [ -z "$wheel" ] || { mkdir "$stage/wheel" && cp "$wheel" "$stage/wheel/"; }
  [ -z "$photos" ] || pack_photos
  # The programs share much code, so together they compress to far less than half.
  tar -C "$stage" -cf - . | zstd -q -12 --long=27 -T0 -f -o "$folder/programs.tar.zst"
  [ -z "$pictures" ] ||
    tar -C "$pictures" -cf - train test | zstd -q -19 --long=27 -T0 -f -o "$folder/pictures.tar.zst"
  mkdir -p "$folder/zstd"
  cp "$(command -v zstd)" "$folder/zstd/"
  ldd "$folder/zstd/zstd" | libraries_of_ldd "$folder/zstd"
  cp "$0" "$here/bench/notebook/device_day_table.py" "$folder/"
  bytes=$(du -sb "$folder" | cut -f 1)
  printf '%s: %s bytes\n' "$folder" "$bytes"
  [ "$bytes" -lt 62914560 ] || {
    printf '%s\n' "device_day: that is more than 60 MiB, the most that may travel" >&2
    exit 1
  }
}

# Packs photos as `sluice convert` stores them, as files in ten classes, which nvJPEG and DataLoader read, too.
pack_photos() {
  mkdir "$stage/chosen"
  number=0
  find "$photos" -type f | sort | head -n 400 | while IFS= read -r file; do
    number=$((number + 1))
    cp "$file" "$stage/chosen/$number-${file##*/}"
  done
  "$build/tools/sluice" convert --quiet "$stage/chosen" "$stage/converted"
  "$build/tools/sluice" export "$stage/converted" "$stage/exported"
  number=0
  find "$stage/exported/images" -type f | sort | while IFS= read -r file; do
    number=$((number + 1)) class=$stage/photos/class$((number % 10))
    mkdir -p "$class"
    cp "$file" "$class/"
  done
  rm -r "$stage/chosen" "$stage/converted" "$stage/exported"
}

# Copies the libraries in the output of ldd, except those that every machine has.
libraries_of_ldd() {
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -Ev "$system_libraries" |
    xargs -I{} cp -L {} "$1/"
}

# part NAME LIMIT COMMAND...: runs the command for at most LIMIT seconds, unless an earlier run has done the part.
# Its output and its measurements (with --json-file) are stored as they are written.
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
  # Our programs find the packed libraries; no other program does.
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
  keep
}
# Packs everything so far into one file, for a machine that is given back.
keep() {
  tar -C "$out" -czf "$out.tar.gz.new" . && mv "$out.tar.gz.new" "$out.tar.gz"
}
# bench NAME LIMIT COMMAND...: like part, for a command of sluice-bench, whose result it stores as JSON.
bench() {
  bench_name=$1 bench_limit=$2
  shift 2
  part "$bench_name" "$bench_limit" sluice-bench "$@" --json-file "$out/parts/$bench_name.json"
}
# skip NAME WHY: notes that a part is skipped.
skip() { printf '%s\tskipped: %s\t0\n' "$1" "$2" | tee -a "$out/summary.tsv"; }

# Prints the path of a tool of the toolkit: on the PATH, or in an installer's usual folder. Fails if there is none.
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
  part cuda_tests 100 sluice_cuda_tests --durations yes
  if grep -q 'skipped: there is no CUDA device' "$out/parts/cuda_tests.log"; then
    forget cuda_tests
    printf '%s\n' "device_day: no card can be used here" >&2
    exit 1
  fi
}

sanitize() {
  if sanitizer=$(tool compute-sanitizer); then
    part "$1" 120 env "LD_LIBRARY_PATH=$libraries" "$sanitizer" --tool "$1" --print-limit 20 \
      --error-exitcode 9 "$folder/bin/sluice_cuda_tests" "Kernels*,A warp unpacks*"
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
  if python3 -c 'import torch' 2>/dev/null; then
    part torch_copy 60 python3 "$folder/peers/decode_nvjpeg.py" --copy
  else
    skip torch_copy "python3 has no torch"
  fi
}

conversions() {
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
}

# shellcheck disable=SC2086  # words
decode_kernels() {
  if ! profiler=$(tool ncu); then
    skip decode_kernels "ncu is not installed"
    return
  fi
  photos
  for form in jpeg packed; do
    epochs="$folder/bin/sluice-bench epoch $work/data/$form --repeat 8 --transform rrc:224,flip,normalize:bf16 \
      --layout nchw --epochs 1 --warm-up 0 $on_card"
    for batch in 256 768; do
      part "ncu_times_${form}_$batch" 60 env "LD_LIBRARY_PATH=$libraries" "$profiler" --clock-control none \
        --metrics gpu__time_duration.sum --launch-skip 8 --launch-count 40 --csv $epochs --batch-size $batch
    done
    part "ncu_decode_$form" 90 env "LD_LIBRARY_PATH=$libraries" "$profiler" --clock-control none \
      --section SpeedOfLight --section LaunchStats --section Occupancy --section WarpStateStats \
      --section MemoryWorkloadAnalysis --launch-skip 8 --launch-count 5 $epochs
  done
}

photos() {
  if [ -d "$folder/photos" ]; then
    [ -d "$work/photos" ] || cp -R "$folder/photos" "$work/photos"
  else
    part make_photos 60 make_photos "$work/photos" 10 "${DEVICE_DAY_PHOTOS:-400}" 500
  fi
  # The packed files already have the default form, so their coefficients are kept.
  part convert_jpeg 60 sluice convert --quality keep "$work/photos" "$work/data/jpeg"
  part convert_packed 60 sluice convert --image packed --quality keep "$work/photos" "$work/data/packed"
  part convert_raw 60 sluice convert --image raw --size 256 "$work/photos" "$work/data/raw"
}
# forget PATTERN: removes the outcomes of these parts from the summary, so that a later run does them again.
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
  # A training slower than the loader: any time that it waits is spent on uploads.
  bench epoch_cuda_step 60 epoch "$data" --repeat 10 --transform rrc:224,flip,normalize:bf16 --device cuda:0 --step-ms 25
  part stream_cuda 40 stream_cuda "$data" 10
}

on_card='--device cuda:0 --device-decode device'

# Each result says what the card, the bus and the CPUs did.
# shellcheck disable=SC2086  # words
decode() {
  photos
  augment='--transform rrc:224,flip,normalize:bf16 --layout nchw'
  for form in jpeg packed raw; do
    part same_bytes_$form 60 env "SLUICE_CARD_DATASET=$work/data/$form" "LD_LIBRARY_PATH=$libraries" \
      "$folder/bin/sluice_cuda_tests" "A dataset that the environment names*" -w NoAssertions
    for threads in 2 "$(nproc)"; do
      for batch in 256 768; do
        bench decode_${form}_${threads}_$batch 60 epoch "$work/data/$form" --repeat 60 $augment --threads $threads \
          --batch-size $batch $on_card
      done
    done
    # The dataset lies on the card: two threads send only the numbers drawn.
    bench stored_device_${form}_2_256 60 epoch "$work/data/$form" --repeat 60 $augment --threads 2 $on_card \
      --device-images device
  done
  # The time that a trainer slower than the loader waits for batches.
  bench decode_step 60 epoch "$work/data/jpeg" --repeat 10 --transform rrc:224,flip,normalize:bf16 $on_card --step-ms 25
}
nvjpeg() {
  if ! python3 -c 'import torchvision' 2>/dev/null; then
    skip nvjpeg "python3 has no torchvision"
    return
  fi
  photos
  part nvjpeg 60 python3 "$folder/peers/decode_nvjpeg.py" "$work/photos"
  part nvjpeg_crops 60 python3 "$folder/peers/decode_nvjpeg.py" --crop 224 --rounds 2 "$work/photos"
}

# Prints 1,2,4,... up to the number of cores.
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

# feeds NAME [OPTION...]: finds how many pretend accelerators each dataset feeds; NAME begins the parts' names.
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

# Compiles train_cifar against the torch of python3, with the packed libraries. The old kind of run path (RPATH)
# applies to libraries' own dependencies, too: packed libraries need other packed ones.
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
    -lc10_cuda -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags \
    -Wl,-rpath,"$torch/lib:$folder/lib" -ldl -lrt -lpthread
}

# Prepares pictures and programs for the training; fails if something is missing.
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
  # The whole training, 24 epochs: an accuracy of 91.6% from CIFAR-10 as JPEGs. For 93.5%, see MEASURED.md.
  part train_jpeg 150 "$train" "$work/data/train" "$work/data/test"
  part train_raw 150 "$train" "$work/data/raw_train" "$work/data/raw_test"
  # The time of an epoch without a loader.
  part train_kept 60 "$train" --loader kept --epochs 8 "$work/data/raw_train" "$work/data/raw_test"
}

peers() {
  cifar peers || return 0
  part train_naive 80 "$train" --loader naive --epochs 5 "$work/train" "$work/test"
  part train_naive_one 80 "$train" --loader naive --threads 1 --epochs 2 "$work/train" "$work/test"
  part train_torch 150 python3 "$folder/peers/train_cifar.py" --epochs 4 "$work/train" "$work/test"
  part train_torch_on_card 150 python3 "$folder/peers/train_cifar.py" --on-card "$work/train" "$work/test"
}

# ResNet-18 in bfloat16, 60,000 draws an epoch, with the packed Python package.
resnet18() {
  if ! python3 -c 'import torchvision' 2>/dev/null; then
    skip resnet18 "python3 has no torchvision"
    return
  fi
  if [ ! -d "$folder/wheel" ]; then
    skip resnet18 "no wheel packed"
    return
  fi
  photos
  site=$work/site
  part install_wheel 60 python3 -m pip install -q --no-index --no-deps --target "$site" "$folder"/wheel/*.whl
  paths="PYTHONPATH=$site LD_LIBRARY_PATH=$libraries"
  # shellcheck disable=SC2086  # words
  for loader in repeat sluice-card sluice-host dataloader; do
    data=$work/data/jpeg
    [ $loader != dataloader ] || data=$work/photos
    part resnet18_$loader $((${DEVICE_DAY_RESNET_SECONDS:-100} + 40)) env $paths python3 "$folder/peers/train_resnet18.py" \
      --loader $loader --epochs 3 --draws 60000 --limit-seconds "${DEVICE_DAY_RESNET_SECONDS:-100}" "$data"
  done
}

# Unpacks a zstd-compressed tar archive with the packed zstd.
unpack() {
  LD_LIBRARY_PATH=$packed/zstd "$packed/zstd/zstd" -dcq --long=27 "$1" >"$work/unpacked.tar"
  tar -C "$2" -xf "$work/unpacked.tar"
  rm "$work/unpacked.tar"
}

run() {
  out=$1
  shift
  stages=' check decode nvjpeg epoch cores_decode cores upload conversions profiles_decode profiles train '
  stages="$stages peers resnet18 memcheck racecheck initcheck synccheck decode_kernels kernels "
  [ $# -gt 0 ] || set -- first second third
  chosen=
  for stage; do
    case $stage in
      first) chosen="$chosen check decode nvjpeg upload decode_kernels" ;;
      second) chosen="$chosen train peers" ;;
      third) chosen="$chosen resnet18" ;;
      *) case $stages in *" $stage "*) chosen="$chosen $stage" ;; *) usage ;; esac ;;
    esac
  done
  packed=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$out/parts"
  out=$(cd "$out" && pwd)
  touch "$out/summary.tsv"
  deadline=$(($(date +%s) + ${DEVICE_DAY_SECONDS:-560}))
  work=$(mktemp -d)
  trap 'keep; rm -rf "$work"' EXIT
  trap 'exit 143' INT TERM HUP
  folder=$work/programs
  mkdir "$work/data" "$folder"
  unpack "$packed/programs.tar.zst" "$folder"
  libraries=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # The output of these parts lay in an earlier run's work folder, which is gone.
  forget 'make_photos\|convert_.*\|cifar_.*\|build_train_cifar\|install_wheel'
  failed=0
  for stage in $chosen; do
    $stage
  done
  ! python3 -c '' 2>/dev/null || python3 "$packed/device_day_table.py" "$out"
  exit $failed
}

case ${1-},$# in
  pack,[3579]) shift; pack "$@" ;;
  run,1) usage ;;
  run,*) shift; run "$@" ;;
  table,1) usage ;;
  table,*) shift; exec python3 "$(dirname "$0")/device_day_table.py" "$@" ;;
  *) usage ;;
esac
