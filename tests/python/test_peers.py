"""bench/peers/train_resnet18.py on the CPU, with a tiny folder."""

import json
import pathlib
import subprocess
import sys

import numpy
import pytest
import sluice

pytest.importorskip("torchvision")
Image = pytest.importorskip("PIL.Image")

SCRIPT = pathlib.Path(__file__).parents[2] / "bench/peers/train_resnet18.py"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of eight pictures in two classes, and the dataset made of it."""
    root = tmp_path_factory.mktemp("resnet18")
    pixels = numpy.random.default_rng(1).integers(0, 256, (8, 40, 48, 3), numpy.uint8)
    for number in range(8):
        path = root / "folder" / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[number]).save(path)
    sluice.convert(root / "folder", root / "dataset", progress=False)
    return root


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, "--device", "cpu", "--batch-size", "4", "--side", "32",
                           "--workers", "1", *words], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("loader", ["dataloader", "sluice-host", "repeat"])
def test_each_loader_feeds_as_many_images_as_the_epoch_draws(data, loader):
    folder = data / ("folder" if loader == "dataloader" else "dataset")
    done = run("--loader", loader, "--epochs", "2", "--draws", "12", folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["loader"], found["epochs"], found["images"]) == (loader, 2, 24)
    assert found["images_per_second"] > 0
    assert 0 <= found["waited_seconds"] <= found["seconds"]


def test_decoding_on_a_card_is_refused_without_one(data):
    done = run("--loader", "sluice-card", "--draws", "4", data / "dataset")
    assert done.returncode == 2 and "needs --device cuda" in done.stderr
