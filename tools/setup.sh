#!/bin/sh
# Installs the system packages that are missing: tools/setup.sh [build|package|python|docs|test|ci|tidy|arm64|--libraries]
#
#   build    what building the libraries, commands and samples needs (the default)
#   package  the set "build", and what making a .deb needs (tools/packaging/deb.cmake)
#   python   the set "build", and what `pip install .` needs
#   docs     the set "build", and what making the site needs (tools/docs/build.sh)
#   test     the set "build", and what the tests need
#   ci       the set "test", the checkers that .ci/run calls, and what some tests are skipped without
#   tidy     the set "build", and the checker that .ci/tidy calls
#   arm64    the set "test", a compiler for 64-bit Arm and an emulator, for .ci/arm64
#
# --libraries installs nothing: it prints the packages of the libraries that Sluice and its tests are
# built with.
#
# The script is for Debian 12 and 13 and Ubuntu 24.04. It calls apt-get, by sudo unless it runs as root, and says what
# it installs. If nothing is missing, it does nothing. SLUICE_SKIP_SETUP=1 leaves the system alone.
set -eu

say() { printf '%s\n' "setup: $*"; }
fail() { printf '%s\n' "setup: $*" >&2; exit 1; }

wanted=${1:-build}
case $wanted in
  build | package | python | docs | test | ci | tidy | arm64 | --libraries) ;;
  *) fail "unknown set '$wanted'; one of build, package, python, docs, test, ci, tidy, arm64" ;;
esac
if [ "${SLUICE_SKIP_SETUP:-0}" = 1 ] && [ "$wanted" != --libraries ]; then
  say "SLUICE_SKIP_SETUP is set: installing nothing"
  exit 0
fi

id=unknown version=
if [ -r /etc/os-release ]; then
  # shellcheck source=/dev/null
  id=$(. /etc/os-release && printf %s "${ID:-unknown}")
  # shellcheck source=/dev/null
  version=$(. /etc/os-release && printf %s "${VERSION_ID:-}")
fi
other_system() {  # other_system [LINE]: fails, and says what to install; LINE is the command of that system's installer
  fail "this system ('$id') is neither Debian 12 or 13 nor Ubuntu 24.04, so nothing was installed.
Install these by its own means, then run again with SLUICE_SKIP_SETUP=1:
  a C++20 compiler (g++ 12 or later), CMake 3.25 or later, Ninja, pkg-config;
  with their headers: libjpeg-turbo 2.1 (libjpeg and libturbojpeg), zstd, xxHash 0.8, libspng,
  libexif, utf8proc, Snappy, expat, CLI11 2.1, nlohmann_json 3.10; as you like libwebp, giflib, libtiff 4.5,
  libavif 0.11, libheif 1.15, libjxl 0.7, openjpeg 2.5 (images of these kinds),
  lcms2, and libcurl 7.85 with OpenSSL (colour profiles, datasets at URLs) and help2man (manual pages); for the tests Catch2 (2.13 or 3), libpng and Python 3.${1:+
On this system that should be (not tried):
  $1}"
}
# Fedora's and Alpine's installers take the names of pkg-config's modules, by which the build looks for libraries, too.
modules() {  # modules BEFORE AFTER: prints each name between BEFORE and AFTER
  for module in libjpeg libturbojpeg libzstd libxxhash spng libexif libutf8proc expat CLI11 nlohmann_json libwebp \
    libwebpdemux libtiff-4 libavif libheif libjxl libopenjp2 lcms2 libcurl libcrypto libpng; do
    printf ' %s' "$1$module$2"
  done
}
case $id in
  debian) jpeg=libjpeg62-turbo-dev known="12 13" ;;
  ubuntu) jpeg=libjpeg-turbo8-dev known=24.04 ;;
  fedora) other_system "dnf install gcc-c++ cmake ninja-build help2man giflib-devel snappy-devel$(modules "'pkgconfig(" ")'")" ;;
  alpine) other_system "apk add g++ cmake samurai pkgconf help2man linux-headers giflib-dev snappy-dev$(modules pc: '')" ;;
  *) other_system ;;
esac
libraries="$jpeg libturbojpeg0-dev libzstd-dev libxxhash-dev libspng-dev libexif-dev libutf8proc-dev
  libsnappy-dev libexpat1-dev libcli11-dev nlohmann-json3-dev"
# A build can do without these; it then lacks some kinds of images, colour profiles or datasets at URLs.
libraries="$libraries libwebp-dev libgif-dev libtiff-dev libavif-dev libheif-dev libjxl-dev
  libopenjp2-7-dev liblcms2-dev libcurl4-openssl-dev libssl-dev"
# In addition to their framework, the tests need libpng, to write pictures, and (below) Python with python3-xxhash and
# zstd, for a reader that is written from FORMAT.md alone.
test_libraries="catch2 libpng-dev"
if [ "$wanted" = --libraries ]; then
  # shellcheck disable=SC2086  # a list
  echo $libraries $test_libraries
  exit 0
fi
case " $known " in
  *" $version "*) ;;
  *) say "made for $id $known and not tried on '$version'; continuing" ;;
esac

packages="g++ cmake ninja-build pkg-config help2man $libraries"
case $wanted in
  build | tidy) ;;
  package) packages="$packages dpkg-dev file" ;;
  python) packages="$packages python3-dev python3-pip python3-venv" ;;
  docs) packages="$packages doxygen python3 python3-venv" ;;
  *) packages="$packages $test_libraries python3 python3-xxhash zstd" ;;
esac
[ "$wanted" != arm64 ] || packages="$packages g++-aarch64-linux-gnu qemu-user"
# Left out if a system does not offer them: ccache, checkers in the one version that is wanted, and for tests a file
# system that fails at will (FUSE), real ranks (Open MPI), a web server (nginx) and what makes the site.
optional=
case $wanted in
  ci) optional="ccache clang-14 clang-format-14 fuse3 python3-fusepy openmpi-bin nginx-light doxygen python3-venv" ;;
  tidy) optional=clang-tidy-14 ;;
esac

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] && return
  [ "$1" = pkg-config ] && command -v pkg-config >/dev/null  # pkgconf does as well
}
offered() { [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]; }

missing=
for package in $packages $optional; do
  installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
  say "every package is there"
  exit 0
fi

sudo=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null ||
    fail "not root and no sudo; have an administrator install:$missing"
  sudo=sudo
fi
apt() {
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

updated=no
update() {
  say "fetching the lists of packages (apt-get update)"
  apt update || fail "apt-get update failed; see above. Is there a way to the package servers?"
  updated=yes
}
for package in $missing; do
  if ! offered "$package"; then
    update
    break
  fi
done
install=
for package in $missing; do
  case " $optional " in
    *" $package "*) offered "$package" || { say "no package $package here; doing without"; continue; } ;;
  esac
  install="$install $package"
done
if [ -z "$install" ]; then
  exit 0
fi

say "installing with apt-get:$install"
# shellcheck disable=SC2086  # a list
if ! apt install -y --no-install-recommends $install; then
  # Old lists name versions that the servers no longer have.
  [ "$updated" = no ] || fail "apt-get could not install$install; see above"
  update
  apt install -y --no-install-recommends $install ||
    fail "apt-get could not install$install; see above"
fi
