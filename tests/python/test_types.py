"""The package's types, as editors and mypy see them."""

import pathlib
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


def mypy(*arguments):
    pytest.importorskip("mypy")
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], text=True,
                          stdout=subprocess.PIPE, cwd=PACKAGE.parent)


def test_the_stub_exists_and_is_strict():
    assert (PACKAGE / "py.typed").exists()
    checked = mypy(PACKAGE / "_sluice.pyi")
    assert checked.returncode == 0, checked.stdout


def test_the_package_is_strict():
    for others in ("torch", "numpy"):
        pytest.importorskip(others)
    checked = mypy("--disable-error-code=import-untyped", "-p", "sluice")  # of tqdm and pandas
    assert checked.returncode == 0, checked.stdout


def test_the_stub_checks_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checked = mypy(program)
    assert checked.returncode == 0, checked.stdout
    for right, wrong in [("hold=3", 'hold="3"'), ('image="packed"', 'image="pact"')]:
        program.write_text(PROGRAM.replace(right, wrong))
        assert mypy(program).returncode == 1
