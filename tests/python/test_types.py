"""The package's types, as editors and mypy see them."""

import pathlib
import re
import subprocess
import sys

import pytest
import sluice

PACKAGE = pathlib.Path(sluice.__file__).parent

PROGRAM = """
import sluice

loader = sluice.Loader("data", 64, transform=[sluice.RandomResizedCrop(224), sluice.HorizontalFlip()],
                       ring=sluice.RingOptions(hold=3), order=sluice.OrderOptions("random", lanes=64))
for batch in loader:
    image = batch["image"]
    count: int = len(batch)
    tensors: dict[str, object] = batch.torch()
state: str = loader.state()
rows: list[int] = loader.when([3, 5], range(4))["row"].tolist()
first = next(loader.epoch(3, first=2, count=1))
skip = sluice.OrderOptions(skip=[sluice.SkippedBatches(0, 4, 2)])
summary = sluice.convert("photos", "data", image="packed")
samples: int = summary.samples
line: str = repr(sluice.Dataset("data")) + sluice.Dataset("data").path
table = sluice.Dataset("data").to_pandas()
number: int | None = sluice.Dataset("data").find("key")
keys: list[str] = [sample.key for sample in sluice.Dataset("data")]


def darken(sample: sluice.MutableSample) -> None:
    sample.image()[...] = 0


try:
    loader.close()
except sluice.Error as error:
    code: str = error.code
with sluice.Writer("new", [sluice.Field.image(), sluice.Field.label("label", ["a"])]) as writer:
    writer.add("key", image=b"", label=0)
"""


# Correct calls that pass functions, steps and options.
OPTIONS = """
from collections.abc import Iterator

import torch

import sluice
import sluice.torch


def weigh(sample: sluice.MutableSample) -> None:
    sample.field("weight")[0] = sample.uniform()


def compose(seed: int, epoch: int) -> Iterator[list[int]]:
    yield [0, 1]


steps = [sluice.RandomResizedCrop(224), sluice.HorizontalFlip()]
loader = sluice.Loader("data", 64, transform=[*steps, sluice.Normalize()], schedule=[(1, "rrc:32"), (2, steps)],
                       sample_function=weigh, batch_function=sluice.NativeFunction(1), thread_setup=lambda thread: thread,
                       device=torch.device("cuda:0"), order=sluice.OrderOptions(batches=compose))
plain = sluice.Loader("data", transform="rrc:64,flip", schedule="1=rrc:32", device="cpu", sample_function=None)
views = sluice.Loader("data", views=[sluice.View("small", steps, schedule=[(1, "rrc:8")])])
dataset = sluice.torch.IterableDataset("data", 64, threads=2, transform=steps, device=torch.device("cpu"), extras=["has"])
sluice.convert("photos", "data", quality=80, progress=lambda done, whole: None)
"""
# A part of OPTIONS, and a replacement that mypy must report.
MISTAKES = [
    ("transform=[*steps, sluice.Normalize()]", "transform=[*steps, sluice.Stage('a', 1)]"),
    ("transform=[*steps, sluice.Normalize()]", "transform=224"),
    ("transform=[*steps, sluice.Normalize()]", "transforms=steps"),
    ('schedule=[(1, "rrc:32"), (2, steps)]', 'schedule=["rrc:32"]'),
    ('schedule=[(1, "rrc:32"), (2, steps)]', 'schedule=[("1", steps)]'),
    ("sample_function=weigh", "sample_function=compose"),
    ("sample_function=weigh", "sample_function=5"),
    ("thread_setup=lambda thread: thread", "thread_setup=weigh"),
    ('device=torch.device("cuda:0")', "device=0"),
    ("batches=compose", "batches=weigh"),
    ('View("small", steps,', 'View("small", 32,'),
    ('64, threads=2, transform', '64, thread=2, transform'),
    ('64, threads=2, transform', '64, threads="2", transform'),
    ('threads=2, transform=steps', "threads=2, transform=[1]"),
    ("quality=80", "qualty=80"),
    ("quality=80", 'quality="high"'),
    ("progress=lambda done, whole: None", 'progress="yes"'),
]


def mypy(*arguments):
    pytest.importorskip("mypy")
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], text=True,
                          stdout=subprocess.PIPE, cwd=PACKAGE.parent)


def test_the_stub_passes_mypy_strict():
    assert (PACKAGE / "py.typed").exists()
    checked = mypy(PACKAGE / "_sluice.pyi")
    assert checked.returncode == 0, checked.stdout


def test_the_package_passes_mypy_strict():
    for others in ("torch", "numpy"):
        pytest.importorskip(others)
    checked = mypy("--disable-error-code=import-untyped", "-p", "sluice")  # tqdm and pandas have no types
    assert checked.returncode == 0, checked.stdout


def test_the_stub_checks_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checked = mypy(program)
    assert checked.returncode == 0, checked.stdout
    for right, wrong in [("hold=3", 'hold="3"'), ('image="packed"', 'image="pact"')]:
        program.write_text(PROGRAM.replace(right, wrong))
        assert mypy(program).returncode == 1


def test_mypy_reports_each_wrong_option(tmp_path):
    """Each mistake is in a program of its own, and one run checks all."""
    pytest.importorskip("torch")
    (tmp_path / "right.py").write_text(OPTIONS)
    for number, (right, wrong) in enumerate(MISTAKES):
        assert OPTIONS.count(right) == 1, right
        (tmp_path / f"wrong{number}.py").write_text(OPTIONS.replace(right, wrong))
    checked = mypy(*sorted(tmp_path.glob("*.py")))
    faulty = set(re.findall(r"(\w+)\.py:\d+: error:", checked.stdout))
    assert faulty == {f"wrong{number}" for number in range(len(MISTAKES))}, checked.stdout
