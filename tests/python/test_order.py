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


def test_the_state_of_a_mixture_has_the_ids_of_its_datasets_and_a_digest_of_its_draws(sparse):
    dataset, shape = sluice.Dataset(sparse), shape_of(sparse)
    order = sluice.OrderOptions(lanes=8, window_bytes=1)
    whole = document.window_blocks(document.Shape(shape.shards * 2), 8, 1)
    windows = [document.window_blocks(shape, 8, 1)] * 2
    ids = f"{dataset.id}+{dataset.id}"
    for parts, listed in (
        ([dataset, dataset], "-"),
        ([(dataset, 1.0), (dataset, 0.5)], digest_of([4, 0, 0], windows, [90, 45])),
    ):
        playing = sluice.Loader(
            sluice.Mixture(parts), 10, order=order, seed=7, output=sluice.OutputOptions(fields=["label"])
        )
        assert playing.state() == state_of(ids, whole, listed, 0, 0)


@pytest.mark.parametrize("last_batch", ["keep", "pad", "drop"])
def test_when_says_what_the_document_plays(sparse, last_batch):
    """The expected rows are those of the page: its order, and its deal to ranks."""
    world, size, shape = 3, 4, shape_of(sparse)
    order = sluice.OrderOptions(lanes=6, window_bytes=1)
    ranks = sluice.RankOptions(1, world, last_batch=last_batch)
    asked = sluice.Loader(sparse, size, seed=5, order=order, ranks=ranks, output=sluice.OutputOptions(fields=["label"]))
    samples = numpy.array([0, 17, 89])
    found = asked.when(samples, range(2, 4))
    expected = []
    for epoch in 2, 3:
        played = document.quasi_random(shape, 5, epoch, 6, document.window_blocks(shape, 6, 1))
        n = len(played)
        batches = n // world // size if last_batch == "drop" else -(-n // (world * size))
        rows = lambda batch: -(-n // world) - batch * size if last_batch == "keep" and batch + 1 == batches else size
        expected += [(played[p % n], epoch, batch, rank, row, p % n) for batch in range(batches) for rank in range(world)
                     for row in range(rows(batch)) for p in [(batch * size + row) * world + rank] if played[p % n] in samples]
    assert list(found) == ["sample", "epoch", "batch", "rank", "row", "position"]
    assert list(zip(*(column.tolist() for column in found.values()))) == expected


def test_when_takes_a_number_or_several(sparse):
    asked = loader(sparse)
    one = asked.when(7, 3)
    assert one["sample"].tolist() == [7] and one["sample"].dtype == numpy.int64
    for samples in [7], (7,), numpy.array([7]), numpy.int64(7), range(7, 8), slice(7, 8):
        assert all((asked.when(samples, [3])[name] == one[name]).all() for name in one)
    assert all(len(column) == 0 for column in loader(sparse, sluice.SampleList.of([1, 2])).when(7, 3).values())


def test_a_wrong_question_when_says_what_is_wrong(sparse):
    asked = loader(sparse)
    with pytest.raises(sluice.Error, match="there is no sample 90: the dataset has 90"):
        asked.when([5, 90], 0)
    for samples, epochs, words in ((True, 0, "when.. takes sample numbers, and these are truth values"),
                                   (-1, 0, "when.. takes sample numbers, from 0 on, not -1"),
                                   ("key", 0, "when.. takes sample numbers, from 0 on, not 'key'"),
                                   (1, 0.5, "when.. takes epoch numbers, from 0 on, not 0.5")):
        with pytest.raises(TypeError, match=words):
            asked.when(samples, epochs)


def test_when_calls_the_function_that_composes_batches(sparse):
    order = sluice.OrderOptions(batches=lambda seed, epoch: [[1, 2, 3], [3], [5 + epoch, 6]])
    asked = sluice.Loader(sparse, 3, order=order, output=sluice.OutputOptions(fields=["label"]))
    assert asked.when(3, 0)["batch"].tolist() == [0, 1] and asked.when([8], [0, 3])["epoch"].tolist() == [3]


def test_a_part_of_an_epoch_is_played_alone(raw):
    training = sluice.Loader(raw, 8, seed=3)
    seen = [(batch.index, batch["image"].numpy().copy()) for batch in training.epoch(2)]
    again = sluice.Loader(raw, 8, seed=3)
    part = again.epoch(2, first=3, count=2)
    assert len(part) == 2
    for batch, (index, pixels) in zip(part, seen[3:5], strict=True):
        assert batch.index == index and (batch["image"].numpy() == pixels).all()
    assert len(again.epoch(2, first=5)) == len(seen) - 5 and len(again.epoch(2, count=2)) == 2
    assert next(iter(again)).epoch == 0  # the next `for` plays the epoch that it would play anyway
    with pytest.raises(sluice.Error, match="epoch 2 has 7 batches, numbered from 0, and 3 from batch 5 on"):
        next(again.epoch(2, first=5, count=3))


def test_batches_that_are_skipped_are_left_out_and_the_others_stay(raw):
    plain = [(batch.epoch, batch.index, batch.samples.tolist()) for epoch in range(3)
             for batch in sluice.Loader(raw, 8).epoch(epoch)]
    skip = [sluice.SkippedBatches(0, 2, 3), sluice.SkippedBatches(1, 0, 7)]
    order = sluice.OrderOptions(skip=skip)
    loader = sluice.Loader(raw, 8, order=order)
    assert len(loader) == 4 and len(loader.epoch(1)) == 0 and loader.samples_per_epoch(0) == 26
    loader.set_epoch(0)
    played = [(batch.epoch, batch.index, batch.samples.tolist()) for _ in range(3) for batch in loader]
    assert played == [one for one in plain if one[0] == 2 or one[0] == 0 and one[1] not in (2, 3, 4)]
    assert set(loader.when(range(50), range(3))["epoch"].tolist()) == {0, 2}
    for ranges, words in (([(0, 5, 3)], r"skip=...\) has 3 batches from batch 5 of epoch 0 on, and the epoch has 7"),
                          ([(0, 1, 2), (0, 2, 1)], "overlap")):
        with pytest.raises(sluice.Error, match=words):
            sluice.Loader(raw, 8, order=sluice.OrderOptions(skip=[sluice.SkippedBatches(*one) for one in ranges]))
