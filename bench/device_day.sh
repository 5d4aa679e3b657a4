#!/bin/sh
# Everything that wants an NVIDIA card, on a machine that has one and perhaps no network:
#
#   bench/device_day.sh pack BUILD FOLDER [PICTURES]   # where Sluice was built (x86-64, with CUDA and tests)
#   FOLDER/device_day.sh run OUT [STAGE...]            # where the card is
#
# `pack` fills FOLDER with the programs of BUILD (a build folder, Release), the shared libraries they need
# but for the C and C++ ones, what train_cifar is compiled and linked with, and its source. PICTURES is for
# train_cifar: CIFAR-10 as train/CLASS/*.jpg and test/CLASS/*.jpg.
#
# `run` needs NVIDIA's driver; compute-sanitizer to look into kernels, and for the training a python3 with
# torch (and torchvision, to compare with its DataLoader) and g++: what is missing of these is skipped.
# Stages: check (is it right), measure (how fast is it), train; all of them in this order unless some are
# named. Each part has a limit of its own, and all together end within DEVICE_DAY_SECONDS (560, unless the
# environment says otherwise); parts that no time is left for are skipped. OUT gets three files, written as it goes:
# summary.tsv (part, exit code, seconds), log.txt (what each part said) and results.jsonl (what each
# measured). Ends with 1 where a part failed or was left out for time.
#
# No card has run it yet: without one it was tried up to where each program looks for it, and train_cifar
# compiled against torch 2.8 and trained on the processor.
set -eu
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

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
  mkdir -p "$folder/bin" "$folder/lib" "$folder/include" "$folder/samples" "$folder/peers"
  for program in tests/device/sluice_cuda_tests tests/device/sluice_device_tests bench/sluice-bench \
    tools/sluice samples/make_photos samples/stream_cuda; do
    strip -o "$folder/bin/${program##*/}" "$build/$program"
    ldd "$build/$program"
  done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -Ev "$system_libraries" |
    xargs -I{} cp -L {} "$folder/lib/"
  cp "$build/reader/libsluice_reader.a" "$build/format/libsluice_format.a" "$folder/lib/"
  cudart=$(sed -n 's/^CUDA_cudart_static_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
  cp "$cudart" "$folder/lib/"
  # The headers that the runtime's own takes.
  headers=$(cd "$(dirname "$cudart")/../include" && pwd)
  mkdir -p "$folder/include/cuda"
  echo '#include <cuda_runtime_api.h>' | c++ -x c++ -M -I"$headers" - | tr ' ' '\n' |
    sed -n "s|^$headers/||p" | (cd "$headers" && xargs cp --parents -t "$folder/include/cuda")
  cp -R "$here/format/include/sluice" "$here/reader/include/sluice" "$folder/include/"
  cp "$(pkg-config --variable=includedir libturbojpeg)/turbojpeg.h" "$folder/include/"
  cp "$here"/samples/train_cifar.cpp "$here"/samples/train_cifar_batches.h \
    "$here"/samples/plain_loader.h "$folder/samples/"
  cp "$here/bench/peers/train_cifar.py" "$folder/peers/"
  cp "$0" "$folder/device_day.sh"
  if [ -n "$pictures" ]; then
    # Small files, much alike: a tenth of what they take.
    tar -C "$pictures" -cf - train test | zstd -q -19 --long=27 -T0 -f -o "$folder/pictures.tar.zst"
    cp "$(command -v zstd)" "$folder/bin/"
    ldd "$folder/bin/zstd" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | grep -Ev "$system_libraries" |
      xargs -I{} cp -L {} "$folder/lib/"
  fi
  du -sh "$folder"
}

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds. What it writes to $result, a file, is what
# it measured.
part() {
  name=$1 limit=$2
  shift 2
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
  printf '\n== %s: %s\n' "$name" "$*" >>"$out/log.txt"
  rm -f "$result"
  begin=$(date +%s) code=0
  timeout -k 5 "$limit" "$@" >"$work/log" 2>&1 </dev/null || code=$?
  head -c 1000000 "$work/log" >>"$out/log.txt"
  printf '%s\t%s\t%s\n' "$name" $code $(($(date +%s) - begin)) | tee -a "$out/summary.tsv"
  tail -n 4 "$work/log" | cut -c 1-100 | sed 's/^/    /'
  if [ -s "$result" ]; then
    { printf '{"part": "%s", "result": ' "$name"; tr -d '\n' <"$result"; printf '}\n'; } >>"$out/results.jsonl"
  fi
  [ $code = 0 ] || failed=1
}
# Of what this machine may lack.
skip() { printf '%s\tskipped: %s\t0\n' "$1" "$2" | tee -a "$out/summary.tsv"; }

check() {
  part card 20 nvidia-smi -q
  part cuda_tests 120 sluice_cuda_tests --durations yes
  if grep -q 'skipped: there is no CUDA device' "$work/log"; then
    printf '%s\n' "device_day: no card can be used here" >&2
    exit 1
  fi
  part device_tests 60 sluice_device_tests
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck initcheck; do
      part $tool 110 env "LD_LIBRARY_PATH=$libraries" compute-sanitizer --tool $tool --print-limit 20 \
        --error-exitcode 9 "$folder/bin/sluice_cuda_tests" "*host's*"
    done
  else
    skip compute-sanitizer "not installed"
  fi
}

measure() {
  upload="sluice-bench upload --json-file $result"
  steps=jitter:0.4/0.4/0.4/0.1,gray:0.2,solarize:128
  pictures=randaug:2/9,blur:23/0.1/2,equalize:0.5,sharpness:2  # that look at whole pictures
  # shellcheck disable=SC2086  # words
  {
    part upload 40 $upload
    part upload_bf16 40 $upload --normalize bf16 --layout nchw
    part upload_f32 40 $upload --normalize f32 --layout nchw
    part upload_steps 40 $upload --transform $steps --normalize bf16 --layout nchw
    part upload_pictures 40 $upload --transform $pictures --normalize bf16 --layout nchw
  }

  part make_photos 60 make_photos "$work/photos" 10 400 500
  part convert 60 sluice convert --image packed "$work/photos" "$work/data/photos"
  epoch="sluice-bench epoch $work/data/photos --json-file $result"
  augment=rrc:224,flip,jitter:0.4/0.4/0.4,normalize:bf16
  # shellcheck disable=SC2086  # words
  {
    for round in 1 2 3; do
      part epoch_host_$round 40 $epoch --repeat 40 --transform rrc:224,flip
      part epoch_cuda_$round 40 $epoch --repeat 40 --transform rrc:224,flip --device cuda:0
      part epoch_cuda_steps_$round 40 $epoch --repeat 40 --transform $augment --device cuda:0
    done
    part epoch_host_steps 40 $epoch --repeat 40 --transform $augment
    part epoch_cuda_host_steps 40 $epoch --repeat 40 --transform $augment --device cuda:0 --device-steps host
    # A training that is slower than the loader: whatever it waits, it waits for uploads.
    part epoch_cuda_step 60 $epoch --repeat 10 --transform rrc:224,flip,normalize:bf16 --device cuda:0 --step-ms 25
  }
  part stream_cuda 40 stream_cuda "$work/data/photos" 10
}

# Against the torch of python3, with the libraries packed.
build_train_cifar() {
  torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  part build_train_cifar 200 g++ -std=c++20 -O1 "$folder/samples/train_cifar.cpp" -o "$work/train_cifar" \
    -I"$folder/include" -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" \
    -isystem "$folder/include/cuda" -idirafter "$torch/../nvidia/cu13/include" \
    "$folder/lib/libsluice_reader.a" "$folder/lib/libsluice_format.a" -Wl,--as-needed "$folder"/lib/*.so* \
    "$folder/lib/libcudart_static.a" -L"$torch/lib" -Wl,--no-as-needed -ltorch -ltorch_cuda -ltorch_cpu -lc10 \
    -lc10_cuda -Wl,--allow-shlib-undefined -Wl,-rpath,"$torch/lib:$folder/lib" -ldl -lrt -lpthread
}

train() {
  if ! python3 -c 'import torch' 2>/dev/null; then
    skip train "python3 has no torch"
    return
  fi
  if [ ! -r "$folder/pictures.tar.zst" ]; then
    skip train "no pictures packed"
    return
  fi
  build_train_cifar
  # shellcheck disable=SC2016  # for the shell within
  part unpack 60 sh -c 'LD_LIBRARY_PATH=$1 "$2/bin/zstd" -dcq --long=27 "$2/pictures.tar.zst" | tar -C "$3" -xf -' \
    unpack "$libraries" "$folder" "$work"
  for half in train test; do
    part convert_$half 40 sluice convert --quality keep "$work/$half" "$work/data/$half"
    part convert_raw_$half 40 sluice convert --image raw "$work/$half" "$work/data/raw_$half"
  done
  train="$work/train_cifar"
  if [ ! -x "$train" ]; then
    skip train_cifar "not built"
    return
  fi
  # To the end, which is to be an accuracy of 93.5%; the lines of each epoch say what it waited for batches.
  part train_cifar 120 "$train" "$work/data/train" "$work/data/test"
  part train_raw 120 "$train" "$work/data/raw_train" "$work/data/raw_test"
  # What an epoch takes: without a loader, and with others in turn.
  part train_repeat 40 "$train" --loader repeat --epochs 4 "$work/data/train" "$work/data/test"
  part train_torch 120 python3 "$folder/peers/train_cifar.py" --epochs 3 "$work/train" "$work/test"
  part train_naive 60 "$train" --loader naive --epochs 4 "$work/train" "$work/test"
  part train_naive_one 80 "$train" --loader naive --threads 1 --epochs 2 "$work/train" "$work/test"
}

run() {
  out=$1
  shift
  [ $# -gt 0 ] || set -- check measure train
  for stage; do
    case $stage in check | measure | train) ;; *) usage ;; esac
  done
  folder=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/data"
  result=$work/result.json
  libraries=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  deadline=$(($(date +%s) + ${DEVICE_DAY_SECONDS:-560}))
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
  *) usage ;;
esac
