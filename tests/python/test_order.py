"""A loader's epochs and states equal those of tests/reader/order_by_document.py, written from reader/ORDER.md alone."""

import json
import struct
import sys
from pathlib import Path

import numpy
import pytest
import sluice

sys.path.append(str(Path(__file__).parents[1] / "reader"))
import order_by_document as document  # noqa: E402

CLASSES = 9
LABELS = [(1, 4, 4, 6, 6, 6, 6)[number * 5 % 7] for number in range(90)]  # 0, 2, 3, 5, 7 and 8 are empty
TAGS = [[(2, 5, -1, 5, 11)[(number + k) % 5] for k in range(number % 4)] for number in range(90)]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """90 samples with a label, the same label as an int16 number, and a list of labels. Most classes are empty."""
    folder = tmp_path_factory.mktemp("sparse") / "dataset"
    names = [f"class {number}" for number in range(CLASSES)]
    fields = [
        sluice.Field.label("label", names),
        sluice.Field.array("raw", "int16", [], "label"),
        sluice.Field.variable("tags", "int32", [], "label"),
    ]
    with sluice.Writer(folder, fields, block_samples=4) as writer:
        for number, (label, tags) in enumerate(zip(LABELS, TAGS)):
            writer.add(str(number), label=label, raw=label * 100 - 150, tags=numpy.array(tags, numpy.int32))
    return folder


def shape_of(folder):
    shards = json.loads((folder / "manifest.json").read_bytes())["shards"]
    return document.Shape([(shard["samples"], shard["block_samples"], shard["bytes"]) for shard in shards])


def loader(folder, samples=None, **options):
    order = sluice.OrderOptions(lanes=8, window_bytes=1, samples=samples or sluice.SampleList())
    return sluice.Loader(folder, 10, order=order, output=sluice.OutputOptions(fields=["label"]), **options)


def epoch_of(folder, samples, seed, epoch):
    return [number for batch in loader(folder, samples, seed=seed).epoch(epoch) for number in batch.samples.tolist()]


@pytest.mark.parametrize("per_class", [1, 2, 13, 40])
@pytest.mark.parametrize(
    "field, labels, classes",
    [
        ("label", [[label] for label in LABELS], CLASSES),
        ("raw", [[label * 100 - 150] for label in LABELS], None),
        ("tags", TAGS, None),
    ],
)
def test_class_balanced_epochs_are_those_of_the_page_though_most_classes_are_empty(
    sparse, field, labels, classes, per_class
):
    balanced = sluice.SampleList.class_balanced(sluice.Dataset(sparse), per_class, field)
    shape = shape_of(sparse)
    for seed, epoch in ((0, 0), (5, 3)):
        listed = document.balanced(labels, classes, per_class, seed, epoch)
        window = document.window_blocks(shape, 8, 1)
        assert epoch_of(sparse, balanced, seed, epoch) == document.of_list(shape, listed, seed, epoch, 8, window)


def digest_of(*sequences):
    xxhash = pytest.importorskip("xxhash")
    words = [word for sequence in sequences for word in (len(sequence), *sequence)]
    return xxhash.xxh3_128_hexdigest(struct.pack(f"<{len(words)}Q", *words))


def state_of(dataset, window, listed, epoch, position, **other):
    xxhash = pytest.importorskip("xxhash")
    words = {"dataset": dataset, "order": 1, "shuffle": "quasi_random", "seed": 7, "lanes": 8, "window": window,
             "shard_ranks": 0, "list": listed, "epoch": epoch, "position": position, **other}
    line = " ".join(["sluice-resume-1", *(f"{name}={value}" for name, value in words.items())])
    return f"{line} check={xxhash.xxh3_64_hexdigest(line.encode())}"


def test_states_are_those_of_the_page(sparse):
    dataset, shape = sluice.Dataset(sparse), shape_of(sparse)
    window = document.window_blocks(shape, 8, 1)
    members = [[sample for sample, label in enumerate(LABELS) if label == number] for number in (1, 4, 6)]
    for samples, listed in (
        (None, "-"),
        (sluice.SampleList.of([5, 3, 5, 80] * 10), digest_of([1], [5, 3, 5, 80] * 10)),
        (sluice.SampleList.weighted([0.5, 1, 0] * 30, 40, True), digest_of([2, 40, 1], [1 << 39, 1 << 40, 0] * 30)),
        (sluice.SampleList.class_balanced(dataset, 12), digest_of([3, 12], *members)),
    ):
        playing = loader(sparse, samples, seed=7)
        assert playing.state() == state_of(dataset.id, window, listed, 0, 0)
        epoch = playing.epoch(4)
        next(epoch), next(epoch)
        assert playing.state() == state_of(dataset.id, window, listed, 4, 20)
        rest = [number for batch in epoch for number in batch.samples.tolist()]
        again = loader(sparse, samples, seed=7, resume_from=state_of(dataset.id, window, listed, 4, 20))
        assert [number for batch in again for number in batch.samples.tolist()] == rest


def test_the_state_of_composed_batches_counts_batches(sparse):
    order = sluice.OrderOptions(batches=lambda seed, epoch: [[1, 2, 3], [4], [5, 6]])
    playing = sluice.Loader(sparse, 10, order=order, seed=7, output=sluice.OutputOptions(fields=["label"]))
    epoch = playing.epoch(1)
    next(epoch), next(epoch)
    composed = {"shuffle": "sequential", "lanes": 0}
    assert playing.state() == state_of(sluice.Dataset(sparse).id, 0, "batches", 1, 2, **composed)


def test_the_state_of_a_mixture_has_a_digest_of_its_datasets_and_draws(sparse):
    xxhash = pytest.importorskip("xxhash")
    dataset, shape = sluice.Dataset(sparse), shape_of(sparse)
    order = sluice.OrderOptions(lanes=8, window_bytes=1)
    whole = document.window_blocks(document.Shape(shape.shards * 2), 8, 1)
    windows = [document.window_blocks(shape, 8, 1)] * 2
    ids = xxhash.xxh3_128_hexdigest(f"mixture {dataset.id} {dataset.id}".encode())
    for parts, listed in (
        ([dataset, dataset], "-"),
        ([(dataset, 1.0), (dataset, 0.5)], digest_of([4, 0, 0], windows, [90, 45])),
    ):
        playing = sluice.Loader(
            sluice.Mixture(parts), 10, order=order, seed=7, output=sluice.OutputOptions(fields=["label"])
        )
        assert playing.state() == state_of(ids, whole, listed, 0, 0)
