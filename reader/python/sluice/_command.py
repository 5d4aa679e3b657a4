"""The commands `sluice` and `sluice-bench`, as a wheel brings them."""

import os
import pathlib
import sys
from typing import NoReturn


def _run(name: str) -> NoReturn:
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.exists():
        sys.exit(f"{name}: this package was built without commands; install Sluice by CMake")
    os.execv(program, [name, *sys.argv[1:]])


def sluice() -> NoReturn:
    _run("sluice")


def sluice_bench() -> NoReturn:
    _run("sluice-bench")
