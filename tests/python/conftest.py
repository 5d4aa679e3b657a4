"""Datasets that the tests of the Python package play."""

import os

os.environ["SLUICE_LEAK_WARNINGS"] = "1"  # read when sluice is imported, in processes that tests start, too

import numpy
import pytest
import sluice

SIDE = 32


def picture(number):
    """A picture by a formula, different for each number: height x width x 3, uint8."""
    y, x, c = numpy.mgrid[0:SIDE, 0:SIDE, 0:3]
    return ((x * 5 + y * 3 + c * 50 + number * 7) % 256).astype(numpy.uint8)


def caption(number):
    return None if number % 5 == 0 else "ä" * (number % 4) + str(number)


def boxes(number):
    return numpy.arange(4 * (number % 3), dtype=numpy.float32).reshape(-1, 4)


FIELDS = [
    sluice.Field.image(),
    sluice.Field.label("label", ["cat", "dog", "eel"]),
    sluice.Field.array("pose", "float64", (2, 2)),
    sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels"),
    sluice.Field.bytes("caption", "text"),
]


def sample(number):
    return {
        "image": picture(number),
        "label": number % 3,
        "pose": numpy.full((2, 2), number / 4),
        "boxes": boxes(number),
        "caption": caption(number),
    }


@pytest.fixture(scope="session")
def raw(tmp_path_factory):
    """50 samples with fields of every kind and raw pixels."""
    folder = tmp_path_factory.mktemp("raw") / "dataset"
    with sluice.Writer(folder, FIELDS, image="raw") as writer:
        for number in range(50):
            writer.add(f"folder/{number}.png", sample(number))
    return folder


@pytest.fixture(scope="session")
def jpeg(tmp_path_factory):
    """200 pictures of 96 x 80 as JPEG."""
    folder = tmp_path_factory.mktemp("jpeg") / "dataset"
    pixels = numpy.random.default_rng(1).integers(0, 256, (10, 8, 3), numpy.uint8)
    large = pixels.repeat(8, 0).repeat(12, 1)
    with sluice.Writer(folder, FIELDS[:2]) as writer:
        for number in range(200):
            writer.add(str(number), image=numpy.roll(large, number, 1), label=number % 3)
    return folder
