"""For tests that convert files written by other libraries, and compare the samples with what these libraries read.

Each test is started with the paths of `sluice` and of `make_photos`, or of a folder with class folders of JPEGs. If the
interpreter lacks the library, one of SLUICE_TEST_PYTHONS (paths separated by colons) runs the test again."""

import csv
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def need(*modules):
    """Continues in an interpreter that has the modules: this one, or one of SLUICE_TEST_PYTHONS. If none has them,
    exits with SKIPPED."""
    if all(importlib.util.find_spec(module) for module in modules):
        return
    find = "import importlib.util as i, sys; sys.exit(not all(map(i.find_spec, sys.argv[1:])))"
    others = [] if "SLUICE_TEST_FOUND" in os.environ else os.environ.get("SLUICE_TEST_PYTHONS", "").split(":")
    for python in filter(_runs, others):
        if subprocess.run([python, "-c", find, *modules]).returncode == 0:
            os.execve(python, [python, "-B", *sys.argv], os.environ | {"SLUICE_TEST_FOUND": "1"})
    print("skipped: Python has no", " or no ".join(modules))
    sys.exit(SKIPPED)


def _runs(python):
    return bool(python) and os.access(python, os.X_OK)


class Workplace:
    """A context that makes a temporary folder, and JPEGs: `files` has pairs of a path and a class number, the index of
    the class in `classes`."""

    def __enter__(self):
        self.sluice = sys.argv[1]
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-importers-"))
        source = Path(sys.argv[2])
        if not source.is_dir():
            source = self.folder / "photos"
            subprocess.run([sys.argv[2], source, "3", "7", "120"], check=True, stdout=subprocess.DEVNULL)
        self.classes = sorted(path.name for path in source.iterdir() if path.is_dir())
        # Adjacent files have different classes.
        self.files = sorted(((file, number) for number, name in enumerate(self.classes)
                             for file in (source / name).glob("*.jp*g")), key=lambda pair: (pair[0].name, pair[1]))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def convert(self, files, *options, name="data"):
        """Converts, verifies and exports the files. Returns the rows of labels.csv, in the order of the sources, each
        with the content of its exported file as `image`."""
        data = self.folder / name
        out = self.folder / f"{name}-files"
        self.run("convert", *files, data, "--keep-order", "--quiet", *options)
        self.run("verify", data, "--decode", "--quiet")
        self.run("export", data, out, "--quiet")
        with open(out / "labels.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["image"] = (out / row["path"]).read_bytes()
        return rows

    def content(self, name, path):
        """The content of a file that convert(name=...) exported."""
        return (self.folder / f"{name}-files" / path).read_bytes()

    def run(self, *words):
        done = subprocess.run([self.sluice, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


def check(what, one, other):
    if one != other:
        sys.exit(f"{what}: {one!r:.300} and not {other!r:.300}")


def check_pixels(what, decode, one, other):
    """Compares two files' pixels. `decode`, the library's decoder, makes an array of a file's bytes."""
    one, other = decode(one), decode(other)
    if one.shape != other.shape or (one != other).any():
        sys.exit(f"{what}: the pixels differ")
