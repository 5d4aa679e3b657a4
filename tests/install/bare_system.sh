#!/bin/sh
# README.md's two commands, and the .deb, in a newly installed system: tests/install/bare_system.sh SUITE
#
# SUITE is bookworm or trixie (Debian 12 and 13) or noble (Ubuntu 24.04). debootstrap makes the system in a temporary
# folder of 5 GB (under TMPDIR or /var/tmp). There, a clone of this repository's last commit runs both commands and
# makes a .deb. lintian checks the package, and a second bare system installs, uses and removes it. All of it takes as
# long as two builds. Without root, debootstrap, mounts or the network, a line says so, and the exit code is 77. If
# CCACHE_DIR is set, compilers run through ccache, which uses that folder.
set -eu
skip() { printf '%s\n' "bare_system: skipped: $*"; exit 77; }
step() { printf '\n%s\n' "== $suite: $*"; }
suite=${1-}
case $suite in
  bookworm | trixie) components=main ;;
  noble) components=main,universe ;;
  *) printf '%s\n' "usage: tests/install/bare_system.sh bookworm|trixie|noble" >&2; exit 2 ;;
esac
source=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || skip "needs root, for chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
unshare --mount true 2>/dev/null || skip "this system does not allow mounts"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/sluice-$suite.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Without Ubuntu's keys, debootstrap would ask Debian's servers for noble. So it then gets Ubuntu's server, which its
# own script for noble names, and does not check signatures.
unchecked=
mirror=
if [ "$suite" = noble ] && [ ! -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]; then
  unchecked=--no-check-gpg
  mirror=$(sed -n 's|.*default_mirror \(http://archive\..*\)|\1|p' /usr/share/debootstrap/scripts/noble)
fi

bare() {  # bare NAME: makes a system in $work/NAME
  step "making a bare system"
  # shellcheck disable=SC2086  # $unchecked and $mirror are one word or none
  debootstrap $unchecked --variant=minbase --components=$components "$suite" "$work/$1" $mirror >"$work/$1.log" 2>&1 || {
    ! grep -q "getting release file" "$work/$1.log" || skip "the packages of $suite cannot be fetched"
    tail -n 20 "$work/$1.log"
    exit 1
  }
}
# in_system NAME COMMAND: runs COMMAND in that system. The inner shell makes the mounts, and they end with it.
in_system() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount sh -eu -c '
    mount -t proc proc "$1/proc"
    mkdir -p "$1/dev/pts" "$1/ccache"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" 2>/dev/null || echo "no /dev/pts here"
    [ -z "${CCACHE_DIR-}" ] || mount --bind "$CCACHE_DIR" "$1/ccache"
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR=/ccache \
      DEBIAN_FRONTEND=noninteractive ${CCACHE_DIR:+CMAKE_CXX_COMPILER_LAUNCHER=ccache} \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -eu -c "$2"
  ' sh "$work/$1" "$2"
}

bare first
git clone -q --no-hardlinks "$source" "$work/first/sluice"
[ -z "${CCACHE_DIR-}" ] || in_system first "apt-get -qq update && apt-get -qq install -y --no-install-recommends ccache"
step "samples/quickstart.sh"
in_system first "cd /sluice && samples/quickstart.sh"
step "tests/run.sh"
in_system first "cd /sluice && tests/run.sh"
step "a .deb"
nameless=bogus-mail-host,bogus-mail-host-in-debian-changelog  # the package of a test has no maintainer
in_system first "cd /sluice && tools/setup.sh package && cpack -G DEB -B build/deb --config build/release/CPackConfig.cmake
  apt-get -qq install -y --no-install-recommends lintian
  lintian --fail-on error --suppress-tags $nameless build/deb/*.deb"

bare second
mkdir "$work/second/deb"
cp "$work"/first/sluice/build/deb/*.deb "$work/second/deb/sluice.deb"
cp -r "$work/first/sluice/build/quickstart/photos" "$work/second/deb/photos"
step "apt-get install and remove"
in_system second "apt-get -qq update && apt-get -qq install -y --no-install-recommends /deb/sluice.deb
  cd /deb && sluice convert photos dataset && sluice verify --decode dataset && sluice-bench epoch dataset
  apt-get -qq remove -y sluice && ! find /usr -path '*sluice*' | grep ."
step "done"
