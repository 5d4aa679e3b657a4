#!/bin/sh
# Makes the files of a release: tools/packaging/release.sh [--wheels]
#
# build/release-files gets the sources, a .deb for this system, with --wheels the Python wheels (on x86-64, also those
# for 64-bit Arm), a list of the libraries that went in (CycloneDX), and SHA256SUMS. The script refuses to start unless
# everything is committed, CHANGELOG.md has a heading for the version (kLibraryVersion in sluice/version.h), and the tag
# vVERSION, if there is one, names this commit.
set -eu
cd "$(dirname "$0")/../.."
fail() { printf '%s\n' "release: $*" >&2; exit 1; }
case $#,${1-} in
  0, | 1,--wheels) ;;
  *) printf '%s\n' "usage: tools/packaging/release.sh [--wheels]" >&2; exit 2 ;;
esac
version=$(sed -n 's/.*kLibraryVersion = "\(.*\)".*/\1/p' format/include/sluice/version.h)
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed; see git status"
grep -q "^## $version\b" CHANGELOG.md || fail "CHANGELOG.md has no heading '## $version'; name the release there"
if tagged=$(git rev-parse -q --verify "v$version^{commit}"); then
  [ "$tagged" = "$(git rev-parse HEAD)" ] || fail "the tag v$version is on another commit; raise kLibraryVersion"
fi

tools/setup.sh package
files=build/release-files
rm -rf $files
mkdir -p $files
git archive --prefix="sluice-$version/" HEAD | gzip -9n >"$files/sluice-$version.tar.gz"
cmake --preset release -B build/deb -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_SAMPLES=OFF
cmake --build build/deb
cpack -G DEB -B build/deb/packed --config build/deb/CPackConfig.cmake
cp build/deb/packed/*.deb $files
if [ $# = 1 ]; then
  tools/packaging/wheels.sh
  cp build/wheels/*.whl $files
  if [ "$(uname -m)" = x86_64 ]; then
    tools/packaging/wheels.sh --arm64
    cp build/wheels-arm64/*.whl $files
  fi
fi

# The names and versions of the system's packages that the build used.
# shellcheck source=/dev/null
. /etc/os-release
# shellcheck disable=SC2046  # a list
dpkg-query -W -f '${Package} ${Version}\n' $(tools/setup.sh --libraries | sed 's/ catch2 libpng-dev//') |
  awk -v origin="$ID" -v version="$version" '
    BEGIN {
      printf "{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,\n \"metadata\": "
      printf "{\"component\": {\"type\": \"library\", \"name\": \"sluice\", \"version\": \"%s\"}},\n", version
      printf " \"components\": ["
    }
    {
      printf "%s\n  {\"type\": \"library\", \"name\": \"%s\", \"version\": \"%s\", ", comma, $1, $2
      printf "\"purl\": \"pkg:deb/%s/%s@%s\"}", origin, $1, $2
      comma = ","
    }
    END { printf "\n]}\n" }' >"$files/sluice-$version-$ID$VERSION_ID.cdx.json"
(cd $files && sha256sum -- * >SHA256SUMS)
printf '\n%s\n' "The release's files are in $files:"
cat $files/SHA256SUMS
