"""Batches that name their size, and AspectBuckets: against numpy."""

import numpy
import pytest
import sluice

SIZES = [(32, 32), (24, 40), (40, 24), (20, 60)]  # height, width
COUNT = 90


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("buckets") / "pictures")
    with sluice.Writer(path, [sluice.Field.image()], image="raw") as writer:
        for number in range(COUNT):
            shape = (20 + number * 37 % 60, 20 + number * 53 % 71, 3)
            writer.add(f"{number}", image=numpy.full(shape, number, "uint8"))
    return path


def loader_of(path, batch, batches, sizes, **options):
    return sluice.Loader(path, batch, transform=[sluice.Resize(32), sluice.HorizontalFlip()], sizes=sizes,
                         order=sluice.OrderOptions(batches=batches), **options)


def test_each_picture_goes_to_the_nearest_shape(pictures):
    buckets = sluice.AspectBuckets(sluice.Dataset(pictures), SIZES, 8)
    shapes = numpy.array([(20 + n * 37 % 60, 20 + n * 53 % 71) for n in range(COUNT)], float)
    ratios = numpy.log(shapes[:, 1] / shapes[:, 0])[:, None] - numpy.log([w / h for h, w in SIZES])
    nearest = abs(ratios).argmin(axis=1)
    assert [sorted(samples) for samples in buckets.buckets] == [numpy.flatnonzero(nearest == k).tolist() for k in range(4)]
    for epoch in range(3):
        composed = buckets(5, epoch)
        assert sorted(sum(composed.batches, [])) == list(range(COUNT))
        for size in range(4):
            lengths = [len(b) for b, s in zip(composed.batches, composed.sizes) if s == size]
            assert sum(lengths) == (nearest == size).sum() and sorted(lengths)[1:] == [8] * (len(lengths) - 1)
        for samples, size in zip(composed.batches, composed.sizes):
            assert (nearest[samples] == size).all()
    assert buckets(5, 0).batches != buckets(5, 1).batches != buckets(6, 1).batches
    assert buckets(5, 1).batches == sluice.AspectBuckets(sluice.Dataset(pictures), SIZES, 8)(5, 1).batches


def test_batches_have_the_size_of_their_bucket_on_all_ranks_and_after_resumes(pictures):
    buckets = sluice.AspectBuckets(sluice.Dataset(pictures), SIZES, 8)
    composed = buckets(0, 0)
    loader, states = loader_of(pictures, 8, buckets, buckets.sizes), []
    whole = []
    for batch in loader:
        whole.append((batch.samples.tolist(), batch["image"].numpy().tobytes()))
        assert batch["image"].shape[1:3] == SIZES[composed.sizes[batch.index]]
        assert batch.samples.tolist() == composed.batches[batch.index]
        states.append(loader.state())
    for at, state in enumerate(states[:-1]):
        resumed = loader_of(pictures, 8, buckets, buckets.sizes, resume_from=state)
        assert [(b.samples.tolist(), b["image"].numpy().tobytes()) for b in resumed] == whole[at + 1:]
    ranks = [[b["image"].shape[1:3] for b in loader_of(pictures, 4, buckets, buckets.sizes, ranks=sluice.RankOptions(rank, 2))]
             for rank in range(2)]
    assert ranks[0] == ranks[1] == [SIZES[size] for size in composed.sizes]
    for number in (0, 41, 89):
        at = next(i for i, batch in enumerate(composed.batches) if number in batch)
        assert loader.row(number, epoch=0)["image"].shape[1:3] == SIZES[composed.sizes[at]]


def test_a_function_may_name_sizes(pictures):
    sizes = [sluice.OutputSize(0, 32, 24, every=1), sluice.OutputSize(0, 16, 16, every=1)]

    def play(named):
        batches = lambda seed, epoch: sluice.SizedBatches([[1, 2], [3], [4, 5]], named)
        return [batch["image"].shape[1:3] for batch in loader_of(pictures, 2, batches, sizes)]

    assert play([1, 0, 1]) == [(16, 16), (24, 32), (16, 16)]
    with pytest.raises(sluice.Error, match="size 2, counted from 0, and .*sizes has 2"):
        play([0, 2, 0])
    with pytest.raises(sluice.Error, match="2 sizes for 3 batches"):
        play([0, 1])
    with pytest.raises(sluice.Error, match="1 to 1000 sizes"):
        sluice.AspectBuckets(sluice.Dataset(pictures), [], 8)
