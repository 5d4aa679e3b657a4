#!/bin/sh
# Makes the Python environments in which `sluice-bench compare` runs other loaders:
#   bench/peers/setup.sh FOLDER [PYTHON]
#   sluice-bench compare photos/ --peers FOLDER
#
# Needs about 16 GB in FOLDER, which should lie outside the repository. Packages that cannot be installed are left
# out with a line, and the comparison then reports them as missing. Run the script again to install the rest.
set -eu

[ $# -ge 1 ] || { echo "usage: setup.sh FOLDER [PYTHON]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
python=${2:-python3}
missing=

say() { printf '%s\n' "peers: $*"; }

# Installs all packages of a requirements file together. If that fails, installs one line at a time, so that one
# package without a build for this machine does not prevent the others.
install_all() {  # install_all ENVIRONMENT FILE
  "$1/bin/pip" install -q --disable-pip-version-check -r "$2" && return
  say "not everything in $(basename "$2") can be installed together; trying one after another"
  grep -v '^#' "$2" | while read -r package; do
    "$1/bin/pip" install -q --disable-pip-version-check "$package" || say "left out: $package"
  done
}

environment() {  # environment NAME: makes the environment unless it exists
  [ -x "$folder/$1/bin/python" ] || "$python" -m venv "$folder/$1"
}

has() {  # has ENVIRONMENT MODULE: whether the module can be found. Does not load it, which could take ten seconds
  "$folder/$1/bin/python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$2') is None)"
}

# The scripts that play the other loaders.
cp "$here/contend.py" "$here/convert_ffcv.py" "$folder/"
mkdir -p "$folder/contend"
cp "$here"/contend/*.py "$folder/contend/"

environment main
for module in torch torchvision tensorflow nvidia.dali webdataset albumentations streaming litdata spdl.io rasterio; do
  has main "$module" 2>/dev/null && continue
  say "installing $here/requirements.txt"
  install_all "$folder/main" "$here/requirements.txt"
  break
done
if ! has main sluice 2>/dev/null; then
  say "building Sluice's Python package of this checkout (some minutes)"
  "$folder/main/bin/pip" install -q --disable-pip-version-check "$here/../.." || true
fi
for module in torchvision tensorflow nvidia.dali webdataset albumentations streaming litdata spdl.io rasterio sluice; do
  has main "$module" 2>/dev/null || missing="$missing $module"
done

environment recent
for module in torch torchvision torchcodec lancedb datasets ultralytics; do
  has recent "$module" 2>/dev/null && continue
  say "installing $here/requirements-recent.txt"
  install_all "$folder/recent" "$here/requirements-recent.txt"
  break
done
for module in torchvision torchcodec lancedb datasets ultralytics; do
  has recent "$module" 2>/dev/null || missing="$missing $module"
done

environment ffcv
if ! has ffcv ffcv 2>/dev/null; then
  # FFCV's extension is compiled against these.
  if ! pkg-config --exists opencv4 libturbojpeg; then
    say "FFCV needs libopencv-dev, libturbojpeg0-dev and pkg-config: install them and run this again"
  else
    say "installing $here/requirements-ffcv.txt"
    install_all "$folder/ffcv" "$here/requirements-ffcv.txt"
    "$folder/ffcv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation \
      ffcv==1.0.2 || true
  fi
fi
has ffcv ffcv 2>/dev/null || missing="$missing ffcv"

if [ -n "$missing" ]; then
  say "done, but without:$missing"
else
  say "done"
fi
