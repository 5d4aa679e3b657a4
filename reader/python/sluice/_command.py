"""The commands `sluice` and `sluice-bench`, as a wheel brings them."""

import os
import pathlib
import sys
from typing import NoReturn


def _run(name: str) -> NoReturn:
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.exists():
        option = "SLUICE_BUILD_BENCH" if name == "sluice-bench" else "SLUICE_BUILD_TOOLS"
        sys.exit(
            f"{name}: this package was not built with it. To have it, in a checkout of Sluice:\n"
            f"  pip install --force-reinstall --no-deps . -C cmake.define.{option}=ON"
        )
    os.execv(program, [name, *sys.argv[1:]])


def sluice() -> NoReturn:
    _run("sluice")


def sluice_bench() -> NoReturn:
    _run("sluice-bench")
