#!/bin/sh
# Installs a wheel in a virtual environment of its own, makes a dataset of a few pictures, and plays an epoch of it:
#   tools/packaging/try_wheel.sh WHEEL [ROOT]
#
# ROOT is the folder of another system. With it, the script does all this inside ROOT, by chroot, for which it must run
# as root. ROOT needs Python with venv, and no network:
#   debootstrap --variant=minbase --include=python3-venv trixie ROOT
# numpy is fetched here, for ROOT's Python and machine. An Arm ROOT (debootstrap --arch=arm64) needs qemu-user-static
# here. pip does not run under that emulator, so this system's pip then puts the packages into a folder of ROOT.
set -eu
cd "$(dirname "$0")/../.."
fail() { printf '%s\n' "try_wheel: $*" >&2; exit 1; }
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: tools/packaging/try_wheel.sh WHEEL [ROOT]" >&2; exit 2; }
[ -f "$1" ] || fail "there is no file $1"
root=${2-}
[ -z "$root" ] || root=$(cd "$root" && pwd)
place=$(mktemp -d "$root/tmp/try_wheel.XXXXXX")
trap 'rm -rf "$place"' EXIT
inside=${place#"$root"}  # as ROOT sees it

# in_root COMMAND...: runs COMMAND in ROOT, with a /proc that is unmounted when the command ends.
in_root() {
  if [ -z "$root" ]; then
    "$@"
  else
    # shellcheck disable=SC2016  # the inner shell's
    unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
  fi
}

version=$(in_root python3 -c 'import sys; print("%d%d" % sys.version_info[:2])') || fail "no python3 runs there"
abi=cp$version$(in_root python3 -c 'import sys; print(sys.abiflags)')  # cp313t if it is free-threaded
machine=$(in_root uname -m)
cp "$1" "$place/"
for_root() {  # for_root COMMAND OPTION...: pip, for ROOT's Python
  command=$1
  shift
  python3 -m pip "$command" -q --disable-pip-version-check --only-binary=:all: --implementation cp --abi "$abi" \
    --python-version "$version" --platform "manylinux_2_17_$machine" --platform "manylinux_2_27_$machine" \
    --platform "manylinux_2_28_$machine" "$@"
}
for_root download -d "$place" numpy
cat >"$place/epoch.py" <<'END'
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy

import sluice

assert "t" not in sys.abiflags or not sys._is_gil_enabled(), "importing the package turned the GIL on"
folder = pathlib.Path(sys.argv[1])


def png(pixels):
    """The bytes of a PNG file."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    file = b"\x89PNG\r\n\x1a\n"
    for name, data in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ):
        file += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return file


colours = {"red": (200, 0, 0), "green": (0, 200, 0), "blue": (0, 0, 200)}
for name, colour in colours.items():
    (folder / "pictures" / name).mkdir(parents=True)
    for number in range(20):
        pixels = numpy.full((90, 120, 3), colour, numpy.uint8)
        (folder / "pictures" / name / f"{number}.png").write_bytes(png(pixels))
summary = sluice.convert(str(folder / "pictures"), str(folder / "data"))
assert summary.samples == 60, summary

loader = sluice.Loader(str(folder / "data"), 16, transform="rrc:64,flip")
names = sorted(colours)
count = 0
for batch in loader.epoch(0):
    images, labels = batch["image"].numpy(), batch["label"].numpy()
    for image, label in zip(images, labels):
        assert image.shape == (64, 64, 3)
        assert image.mean((0, 1)).argmax() == "rgb".index(names[label][0])  # its class's colour
        count += 1
assert count == 60, count

command = pathlib.Path(sys.executable).with_name("sluice")
if not command.exists():  # not in a virtual environment
    command = pathlib.Path(sluice.__file__).parent / "bin" / "sluice"
print(subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip())
subprocess.run([command, "verify", folder / "data"], check=True, capture_output=True)
own = {line.split()[-1] for line in open("/proc/self/maps") if "sluice_data.libs/" in line}
print(f"played an epoch of {count} samples with {len(own)} libraries of the wheel's own, Python {sys.version.split()[0]} and "
      f"{os.confstr('CS_GNU_LIBC_VERSION')}")
END
if [ "$machine" != "$(uname -m)" ]; then
  for_root install --platform "manylinux_2_34_$machine" --abi abi3 --no-deps --ignore-requires-python \
    --target "$place/site" "$place"/*.whl
  in_root env "PYTHONPATH=$inside/site" python3 "$inside/epoch.py" "$inside"
  exit
fi
# shellcheck disable=SC2016  # the inner shell's
in_root sh -eu -c '
  cd "$0"
  python3 -m venv venv
  venv/bin/pip install -q --disable-pip-version-check --no-index --find-links . ./sluice_data-*.whl
  venv/bin/pip check --disable-pip-version-check
  venv/bin/python epoch.py "$0"
' "$inside"
