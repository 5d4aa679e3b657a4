#!/bin/sh
# Builds everything into build/release and runs the tests: tests/run.sh [--slow]
#
# With --slow, tests that take minutes run as well. The last lines are ctest's summary, and the exit code is ctest's,
# unless a step before the tests fails.
set -eu
slow=no
case $#,${1-} in
  0,) ;;
  1,--slow) slow=yes ;;
  *) printf '%s\n' "usage: tests/run.sh [--slow]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."

tools/setup.sh test
# The Python package is built and tested if Python has the required modules.
python=OFF
! python3 -c 'import nanobind, numpy, pytest' 2>/dev/null || python=ON
cmake --preset release -DSLUICE_BUILD_TESTS=ON -DSLUICE_BUILD_PYTHON=$python
cmake --build build/release
jobs=$(nproc)
if [ $slow = yes ]; then
  exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$jobs"
fi
exec ctest --preset release -j "$((jobs + 1))"  # some of them wait
