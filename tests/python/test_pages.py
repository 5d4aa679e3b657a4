"""The Python code of the pages runs, and so do the samples."""

import pathlib
import re
import subprocess
import sys

import numpy
import pytest
import sluice

ROOT = pathlib.Path(__file__).parents[2]
Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with photos/ of ten classes, to run programs in."""
    place = tmp_path_factory.mktemp("pages")
    random = numpy.random.default_rng(1)
    for number in range(160):
        of_class = place / "photos" / f"class{number % 10}"
        of_class.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 60, (120, 160, 3)) + number % 10 * 20
        Image.fromarray(pixels.astype(numpy.uint8)).save(of_class / f"{number}.jpg")
    return place


def blocks():
    """(words after the fence, code) of the page's blocks of Python."""
    page = (ROOT / "reader/python/README.md").read_text()
    return re.findall(r"^```python(.*?)\n(.*?)^```", page, flags=re.M | re.S)


def test_the_python_code_of_the_pages_runs(folder):
    found = blocks()
    assert len(found) >= 6
    try:
        import torch  # noqa: F401
    except ImportError:
        found = [block for block in found if "torch" not in block[0]]
    program = folder / "page.py"
    program.write_text("\n".join(code for _, code in found))
    subprocess.run([sys.executable, program], cwd=folder, check=True, timeout=500)


@pytest.mark.parametrize("sample", sorted((ROOT / "samples/python").glob("train_*.py")), ids=lambda path: path.stem)
def test_the_samples_run(folder, sample):
    pytest.importorskip("torch")
    if "lightning" in sample.stem:
        pytest.importorskip("lightning")
    output = subprocess.run(
        [sys.executable, sample, "photos", "--epochs", "1", "--side", "64"],
        cwd=folder, check=True, timeout=500, stdout=subprocess.PIPE, text=True,
    ).stdout
    assert "accuracy" in output


def test_a_dataset_of_mosaicml_is_copied(folder):
    streaming = pytest.importorskip("streaming")
    files = sorted((folder / "photos").rglob("*.jpg"))[:10]
    with streaming.MDSWriter(out=str(folder / "mds"), columns={"image": "jpeg", "label": "int"}) as writer:
        for number, file in enumerate(files):
            writer.write({"image": Image.open(file), "label": number})
    run_copy("convert_mds", folder, "mds")
    copied = sluice.Dataset(folder / "from-mds")
    assert [sample["label"] for sample in copied] == list(range(10))
    assert [sample.payload() for sample in copied] == [file.read_bytes() for file in files]


def test_a_dataset_of_litdata_is_copied(folder):
    litdata = pytest.importorskip("litdata")
    files = sorted((folder / "photos").rglob("*.jpg"))[:10]
    litdata.optimize(fn=lit_sample, inputs=list(enumerate(files)), output_dir=str(folder / "lit"), chunk_bytes="1MB",
                     num_workers=1, verbose=False)
    run_copy("convert_litdata", folder, "lit")
    copied = sluice.Dataset(folder / "from-lit")
    assert sorted((sample["label"], sample.payload()) for sample in copied) == \
        [(number, file.read_bytes()) for number, file in enumerate(files)]


def lit_sample(item):
    return {"image": item[1].read_bytes(), "label": item[0]}


def run_copy(sample, folder, source):
    subprocess.run([sys.executable, ROOT / f"samples/python/{sample}.py", source, f"from-{source}"], cwd=folder,
                   check=True, timeout=500)
