#!/bin/sh
# Builds the site of all pages, with a reference made from the programs, headers and the Python package:
# tools/docs/build.sh [OUT]
#
# OUT is build/site if it is not given; open OUT/index.html, no network or server needed. Python packages go
# into build/docs-venv (requirements.txt). SLUICE_BUILD names the build to describe (build/release).
# SLUICE_REPOSITORY_URL is where links to sources lead ("https://host/owner/sluice/blob/main"); without it,
# they lead to copies in the site.
set -eu
case $#,${1-} in
  0, | 1,[!-]*) ;;
  *) printf '%s\n' "usage: tools/docs/build.sh [OUT]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/../.."
out=${1:-build/site} build=${SLUICE_BUILD:-build/release} work=build/docs venv=build/docs-venv
fail() { printf '%s\n' "docs: $*" >&2; exit 1; }
[ -x "$build/tools/sluice" ] && [ -x "$build/bench/sluice-bench" ] ||
  fail "there is no sluice and sluice-bench in $build; build them, or name another build with SLUICE_BUILD"
command -v doxygen >/dev/null || fail "doxygen is not installed (apt-get install doxygen)"

# The packages are installed again when their list has changed.
mkdir -p "$work"
if ! cmp -s tools/docs/requirements.txt "$venv/installed.txt"; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r tools/docs/requirements.txt
  cp tools/docs/requirements.txt "$venv/installed.txt"
fi
if ! cmp -s tools/docs/mermaid.txt "$work/mermaid/installed.txt"; then
  rm -rf "$work/mermaid"
  "$venv/bin/pip" download -q --disable-pip-version-check --no-deps --python-version 3.12 --only-binary=:all: \
    --require-hashes -r tools/docs/mermaid.txt -d "$work/mermaid"
  "$venv/bin/python" -m zipfile -e "$work"/mermaid/*.whl "$work/mermaid"
  cp tools/docs/mermaid.txt "$work/mermaid/installed.txt"
fi

rm -rf "$work/doxygen"
{
  cat tools/docs/Doxyfile
  echo "INPUT = format/include reader/include writer/include"
  echo "OUTPUT_DIRECTORY = $work"
  echo "XML_OUTPUT = doxygen"
  echo "FILTER_PATTERNS = *.h=\"$venv/bin/python -B tools/docs/header_filter.py\""
} | doxygen - >/dev/null

# What the option lists declare, printed by a program of their headers.
"${CXX:-c++}" -std=c++20 -O0 -Iformat/include -Ireader/include -Iwriter/include tools/docs/options.cpp \
  format/option_list.cpp -o "$work/options"
"$work/options" >"$work/options.json"

python=
[ ! -e "$build/reader/python/sluice/_sluice.pyi" ] || python="--python $build/reader/python"
[ -n "$python" ] || echo "docs: $build has no Python package; its reference is left out"
# shellcheck disable=SC2086  # two words
"$venv/bin/python" -B tools/docs/make_site.py . "$work" "$out" --sluice "$build/tools/sluice" \
  --bench "$build/bench/sluice-bench" --doxygen "$work/doxygen" --options "$work/options.json" $python \
  --mermaid "$work"/mermaid/*/assets/mermaid.min.js
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -B -m mkdocs build -q --strict -f "$work/mkdocs.yml"
