"""The Python code of the pages runs, and so do the samples.

A page's blocks are one program, in their order. Words after the fence, which readers do not see:

    ```python torch ...   modules that the block needs; without them it is left out
    ```python program     a program of its own
    ```python ranks       a program of its own, started by torchrun as two processes
    ```python url         a program of its own, whose s3://bucket/photos is a web server's URL
    ```python gpu         a program of its own, run where torch finds a GPU; elsewhere it only has to be Python

A line `EPOCHS = 8` becomes `EPOCHS = 1`.
"""

import ast
import http.server
import importlib.util
import inspect
import io
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading

import numpy
import pytest
import sluice
from test_remote import Ranges

ROOT = pathlib.Path(__file__).parents[2]
Image = pytest.importorskip("PIL.Image")


def make_pictures(folder, mask_folder=None):
    """16 pictures of each of ten classes; a mask for each: class 1 on the left half, 0 on the right."""
    random = numpy.random.default_rng(1)
    for number in range(160):
        name = f"class{number % 10}/{number}"
        pixels = random.integers(0, 60, (120, 160, 3)) + number % 10 * 20
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(numpy.uint8)).save(folder / f"{name}.jpg")
        if mask_folder:
            mask = numpy.zeros((120, 160), numpy.uint8)
            mask[:, :80] = 1
            (mask_folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(mask_folder / f"{name}.png")


def make_tars(folder, pictures):
    """Two tar files in WebDataset's naming, of all pictures below a folder."""
    files = sorted(pictures.rglob("*.jpg"))
    for part in range(2):
        with tarfile.open(folder / f"train-{part:06}.tar", "w") as tar:
            for file in files[part::2]:
                number = file.parent.name.removeprefix("class").encode()
                for ending, content in ("jpg", file.read_bytes()), ("cls", number), ("json", b'{"camera": "x"}'):
                    member = tarfile.TarInfo(f"{file.stem}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which the pages' programs run: photos/ and val/ of ten classes and their datasets, images/ with
    masks/ and labels.csv, tar files, a .beton file."""
    place = tmp_path_factory.mktemp("pages")
    make_pictures(place / "photos")
    make_pictures(place / "images", place / "masks")
    shutil.copytree(place / "photos", place / "val")
    names = (file.relative_to(place) for file in sorted((place / "images").rglob("*.jpg")))
    rows = [f'{name},"12 20 80 60; 40 8 60 90",cat|hat\n' for name in names]
    (place / "labels.csv").write_text("path,bbox,category\n" + "".join(rows))
    make_tars(place, place / "photos")
    shutil.copy(ROOT / "tests/writer/goldens/small.beton", place)
    sluice.convert(place / "photos", place / "data/photos")
    source = sluice.ConvertSource(place / "val")
    source.label.classes_of = place / "data/photos"
    sluice.convert(source, place / "data/val")
    return place


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that is not there
        return False


def programs(page):
    """(kind, code) of each program of the page, without programs whose modules are not installed. The blocks that are
    not programs of their own are one program together; its kind is None."""
    together, alone, whole = [], [], True
    for words, code in re.findall(r"^```python(.*?)\n(.*?)^```", (ROOT / page).read_text(), flags=re.M | re.S):
        kinds = {"program", "ranks", "url", "gpu"} & set(words.split())
        there = all(map(is_there, set(words.split()) - kinds))
        whole = whole and (there or bool(kinds))
        if there:
            code = re.sub(r"^EPOCHS = \d+", "EPOCHS = 1", code, flags=re.M)
            if kinds:
                alone.append((kinds.pop(), code))
            else:
                together.append(code)
    return ([(None, "\n".join(together))] if together and whole else []) + alone


PAGES = [
    str(page.relative_to(ROOT))
    for page in [*map(ROOT.joinpath, ("README.md", "reader/python/README.md", "reader/GPU.md")),
                 *sorted(ROOT.glob("samples/guides/*.md"))]
    if "\n```python" in page.read_text()
]


def has_gpu():
    import torch

    return torch.cuda.is_available()


def test_the_pages_have_programs():
    assert len(PAGES) >= 17


@pytest.mark.parametrize("page", PAGES)
def test_the_python_code_of_a_page_runs(folder, tmp_path, page):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    launchers = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    environment = {name: value for name, value in os.environ.items() if name not in launchers}
    found = programs(page)
    if not found:
        pytest.skip("its programs need modules that are not installed")
    for number, (kind, code) in enumerate(found):
        compile(code, page, "exec")
        if kind == "gpu" and not has_gpu():
            continue
        program = tmp_path / f"program{number}.py"
        command = [sys.executable, program]
        if kind == "ranks":
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                port = one.getsockname()[1]
            command[1:1] = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
        server = None
        if kind == "url":
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
            server.daemon_threads, server.folder = True, tmp_path / "data"
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            code = code.replace("s3://bucket/photos", f"http://127.0.0.1:{server.server_port}/photos")
            code = code.replace("/tmp/", f"{tmp_path}/")
        program.write_text(code)
        done = subprocess.run(command, cwd=tmp_path, timeout=500, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if server is not None:
            server.shutdown()
            server.server_close()
        if done.returncode != 0 and kind == "url" and "libcurl" in done.stdout:
            pytest.skip("this build has no remote datasets")
        assert done.returncode == 0, f"{page}, program {number}:\n{done.stdout}"


def calls_in(code):
    """(name, its keywords) of each call in a page's inline code, such as `order=sluice.OrderOptions(lanes=8)`."""
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:  # C++, a command, or not a whole expression
        return []
    return [(ast.unparse(one.func), [word.arg for word in one.keywords if word.arg])
            for one in ast.walk(tree) if isinstance(one, ast.Call)]


def test_options_that_pages_name_in_their_text_exist():
    faults = []
    for page in [ROOT / "README.md", *ROOT.glob("*/**/*.md")]:
        name = page.relative_to(ROOT).as_posix()
        if name.startswith(("build", "bench/MEASURED")):
            continue
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for code in re.findall(r"`([^`\n]+)`", text):
            for attribute in re.findall(r"\bsluice\.([A-Za-z]\w*)\b(?![-/.])", code):
                if attribute not in ("h", "prom", "torch") and not hasattr(sluice, attribute):
                    faults.append(f"{name}: there is no sluice.{attribute}: `{code}`")
            for called, words in calls_in(code):
                ours = getattr(sluice, called.removeprefix("sluice."), None)
                if ours is None or not words:
                    continue
                known = inspect.signature(ours).parameters
                faults += [f"{name}: {called}() has no {word}: `{code}`" for word in words if word not in known]
    assert not faults, "\n".join(faults)


def test_the_page_of_transforms_names_all_of_torchvision():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    page = (ROOT / "reader/TRANSFORMS.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page[page.index("## Next to torchvision's names"):], flags=re.M)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    # These are not transforms: a base class, and enumerations that some transforms take.
    others = {"Transform", "AutoAugmentPolicy", "InterpolationMode"}
    # Older versions of torchvision lack some that the page names.
    assert {name for name in dir(v2) if name[0].isupper()} - others <= named


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
