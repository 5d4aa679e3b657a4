"""The commands `sluice` and `sluice-bench`, as a wheel brings them."""

import os
import pathlib
import sys


def _run(name):
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.exists():
        sys.exit(f"{name}: this package was built without commands; install Sluice by CMake")
    os.execv(program, [name, *sys.argv[1:]])


def sluice():
    _run("sluice")


def sluice_bench():
    _run("sluice-bench")
