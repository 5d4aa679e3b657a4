#!/bin/sh
# Builds the site of all pages, with a reference made from the programs, the headers and the Python package:
# tools/docs/build.sh [--install|--installed] [OUT]
#
# OUT is build/site by default; OUT/index.html needs no network and no server. The script needs a build
# (build/release, or the one that SLUICE_BUILD names) and Doxygen (tools/setup.sh docs). Python packages go into
# build/docs-venv: --install only installs them; with --installed, the script installs nothing, and if a package
# is missing, it skips the site (exit code 77).
#
# Links to sources lead to copies in the site. If SLUICE_REPOSITORY_URL is set, such as to
# "https://host/owner/sluice/blob/main", they lead to the files below that address.
set -eu
install=yes only=no
case ${1-} in
  --install) only=yes && shift ;;
  --installed) install=no && shift ;;
esac
case $#,${1-} in
  0, | 1,[!-]*) ;;
  *) printf '%s\n' "usage: tools/docs/build.sh [--install|--installed] [OUT]" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
case ${1-} in
  '') out=$root/build/site ;;
  /*) out=$1 ;;
  *) out=$PWD/$1 ;;
esac
cd "$root"
build=${SLUICE_BUILD:-build/release} venv=build/docs-venv
work=$build/docs
fail() { printf '%s\n' "docs: $*" >&2; exit 1; }
lacking() {  # lacking WHY: with --installed, says WHY and skips the site; otherwise does nothing
  [ $install = yes ] || { printf '%s\n' "docs: skipped: $1"; exit 77; }
}

# The packages are installed again when their lists have changed.
if ! cat tools/docs/requirements.txt tools/docs/mermaid.txt | cmp -s - "$venv/installed.txt"; then
  lacking "build/docs-venv is not there or not up to date; tools/docs/build.sh --install makes it"
  rm -rf "$venv"
  python3 -m venv "$venv" || fail "python3 cannot make a virtual environment (tools/setup.sh docs)"
  pip() { "$venv/bin/pip" "$@" -q --disable-pip-version-check; }
  pip install -r tools/docs/requirements.txt
  pip download --no-deps --python-version 3.12 --only-binary=:all: --require-hashes -r tools/docs/mermaid.txt \
    -d "$venv/mermaid"
  "$venv/bin/python" -m zipfile -e "$venv"/mermaid/*.whl "$venv/mermaid"
  cat tools/docs/requirements.txt tools/docs/mermaid.txt >"$venv/installed.txt"
fi
[ $only = no ] || exit 0
command -v doxygen >/dev/null || {
  lacking "doxygen is not installed; tools/setup.sh docs installs it"
  fail "doxygen is not installed; tools/setup.sh docs installs it"
}
for program in tools/sluice bench/sluice-bench samples/make_photos; do
  [ -x "$build/$program" ] || fail "there is no $build/$program; build it, or name another build with SLUICE_BUILD"
done

rm -rf "$work/doxygen"
mkdir -p "$work"
{
  cat tools/docs/Doxyfile
  echo "INPUT = format/include reader/include writer/include"
  echo "OUTPUT_DIRECTORY = \"$work\""
  echo "XML_OUTPUT = doxygen"
  echo "FILTER_PATTERNS = *.h=\"$venv/bin/python -B tools/docs/header_filter.py\""
} | doxygen - >/dev/null

# The option lists' declarations, printed by a program that includes their headers.
"${CXX:-c++}" -std=c++20 -O0 -Iformat/include -Ireader/include -Iwriter/include tools/docs/options.cpp \
  format/option_list.cpp -o "$work/options"
"$work/options" >"$work/options.json"

python=
if [ -e "$build/reader/python/sluice/_sluice.pyi" ]; then
  python="--python $build/reader/python"
else
  echo "docs: $build has no Python package; its reference is left out"
fi
# shellcheck disable=SC2086  # two words
"$venv/bin/python" -B tools/docs/make_site.py . "$work" "$out" --sluice "$build/tools/sluice" \
  --bench "$build/bench/sluice-bench" --make-photos "$build/samples/make_photos" --doxygen "$work/doxygen" \
  --options "$work/options.json" --mermaid "$venv"/mermaid/*/assets/mermaid.min.js $python
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -B -m mkdocs build --strict -f "$work/mkdocs.yml" >"$work/mkdocs.log" 2>&1 || {
  cat "$work/mkdocs.log"
  fail "MkDocs found faults"
}
"$venv/bin/python" -B tools/docs/check_site.py "$out"
