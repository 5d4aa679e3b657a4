#!/bin/sh
# Everything that wants an NVIDIA card, in one go, on a machine that has one and perhaps no network:
#
#   bench/device_day.sh pack BUILD FOLDER [PICTURES]   # where Sluice was built (x86-64, with CUDA and tests)
#   FOLDER/device_day.sh run OUT                       # where the card is
#
# `pack` fills FOLDER with the programs of BUILD (a build folder, Release), the shared libraries they need
# but for the C and C++ ones, the libraries to link with and the samples' sources. PICTURES is for
# train_cifar: CIFAR-10 as train/CLASS/*.jpg and test/CLASS/*.jpg.
#
# `run` needs NVIDIA's driver; compute-sanitizer to look into kernels, and for train_cifar g++ 12 or later,
# CUDA's toolkit and a python3 with torch: what is missing of these is skipped. Each part has a limit of its own; all of it is meant for ten minutes on 16 CPUs. OUT gets
# a log of each part, the JSON of each measurement, and summary.tsv: part, exit code, seconds. Ends with 1
# where a part failed. No card has run it yet: without one it was tried up to where each program looks for it.
set -eu
usage() { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }

pack() {
  build=$(cd "$1" && pwd) folder=$2 pictures=${3-}
  [ -x "$build/tests/device/sluice_cuda_tests" ] || {
    printf '%s\n' "device_day: $1 holds no tests for a card; configure it with --preset cuda -DSLUICE_BUILD_TESTS=ON" >&2
    exit 1
  }
  here=$(cd "$(dirname "$0")/.." && pwd)
  mkdir -p "$folder/bin" "$folder/lib" "$folder/include" "$folder/samples"
  for program in tests/device/sluice_cuda_tests tests/device/sluice_device_tests bench/sluice-bench \
    tools/sluice samples/make_photos samples/stream_cuda; do
    strip -o "$folder/bin/${program##*/}" "$build/$program"
    ldd "$build/$program"
  done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so' |
    xargs -I{} cp -L {} "$folder/lib/"
  cp "$build/reader/libsluice_reader.a" "$build/format/libsluice_format.a" "$folder/lib/"
  cp -R "$here/format/include/sluice" "$here/reader/include/sluice" "$folder/include/"
  cp "$(pkg-config --variable=includedir libturbojpeg)/turbojpeg.h" "$folder/include/"
  cp "$here"/samples/train_cifar.cpp "$here"/samples/train_cifar_batches.h \
    "$here"/samples/plain_loader.h "$folder/samples/"
  cp "$0" "$folder/device_day.sh"
  [ -z "$pictures" ] || tar -C "$pictures" -czf "$folder/pictures.tar.gz" train test
  du -sh "$folder"
}

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds; its output goes to NAME.log.
part() {
  name=$1 limit=$2
  shift 2
  begin=$(date +%s) code=0
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  printf '%s\t%s\t%s\n' "$name" $code $(($(date +%s) - begin)) | tee -a "$out/summary.tsv"
  [ $code = 0 ] || failed=1
}
# Of what this machine may lack.
skip() { printf '%s\tskipped: %s\t0\n' "$1" "$2" | tee -a "$out/summary.tsv"; }

# Against the torch of python3, with the libraries packed.
build_train_cifar() {
  torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
  cudart=$(find "$cuda/" -name libcudart_static.a | head -n 1)
  part build_train_cifar 150 g++ -std=c++20 -O2 "$folder/samples/train_cifar.cpp" -o "$work/train_cifar" \
    -I"$folder/include" -isystem "$torch/include" \
    -isystem "$torch/include/torch/csrc/api/include" -isystem "$cuda/include" \
    "$folder/lib/libsluice_reader.a" "$folder/lib/libsluice_format.a" "$folder"/lib/*.so* "$cudart" \
    -L"$torch/lib" -Wl,--no-as-needed -ltorch -ltorch_cuda -ltorch_cpu -lc10 -lc10_cuda \
    -Wl,-rpath,"$torch/lib:$folder/lib" -ldl -lrt -lpthread
}

train() {
  tar -C "$work" -xzf "$folder/pictures.tar.gz"
  for half in train test; do
    part convert_$half 60 sluice convert --quality keep "$work/$half" "$work/data/$half"
  done
  part train_cifar 150 "$work/train_cifar" "$work/data/train" "$work/data/test"
  part train_cifar_repeat 60 "$work/train_cifar" --loader repeat --epochs 4 "$work/data/train" "$work/data/test"
  part train_cifar_naive 150 "$work/train_cifar" --loader naive --epochs 4 "$work/train" "$work/test"
}

run() {
  out=$1
  folder=$(cd "$(dirname "$0")" && pwd)
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  failed=0
  : >"$out/summary.tsv"
  export PATH="$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

  part card 20 nvidia-smi -q
  part device_tests 120 sluice_device_tests
  part cuda_tests 120 sluice_cuda_tests
  if grep -q 'skipped: there is no CUDA device' "$out/cuda_tests.log"; then
    printf '%s\n' "device_day: no card can be used here" >&2
    exit 1
  fi
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
      part $tool 90 compute-sanitizer --tool $tool --error-exitcode 9 sluice_cuda_tests "*host's*"
    done
  else
    skip compute-sanitizer "not installed"
  fi
  part upload 60 sluice-bench upload --json-file "$out/upload.json"
  part upload_bf16 60 sluice-bench upload --normalize bf16 --layout nchw --json-file "$out/upload_bf16.json"
  part upload_steps 60 sluice-bench upload --transform jitter:0.4/0.4/0.4/0.1,gray:0.2,solarize:128 \
    --normalize bf16 --layout nchw --json-file "$out/upload_steps.json"

  mkdir "$work/data"
  part make_photos 60 make_photos "$work/photos" 10 1000 500
  part convert 60 sluice convert --image packed "$work/photos" "$work/data/photos"
  epoch="sluice-bench epoch $work/data/photos --repeat 10 --transform rrc:224,flip,jitter:0.4/0.4/0.4,normalize:bf16"
  # shellcheck disable=SC2086  # words
  {
    part epoch_host 60 $epoch --json-file "$out/epoch_host.json"
    part epoch_cuda 60 $epoch --device cuda:0 --json-file "$out/epoch_cuda.json"
    part epoch_cuda_host_steps 60 $epoch --device cuda:0 --device-steps host --json-file "$out/epoch_cuda_host_steps.json"
  }
  part stream_cuda 60 stream_cuda "$work/data/photos" 5
  if ! python3 -c 'import torch' 2>/dev/null; then
    skip train_cifar "python3 has no torch"
  else
    build_train_cifar
    if [ ! -x "$work/train_cifar" ] || [ ! -r "$folder/pictures.tar.gz" ]; then
      skip train_cifar "no program, or no pictures packed"
    else
      train
    fi
  fi
  exit $failed
}

case ${1-},$# in
  pack,3 | pack,4) pack "$2" "$3" "${4-}" ;;
  run,2) run "$2" ;;
  *) usage ;;
esac
