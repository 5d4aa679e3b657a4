"""What a loader draws equals what tests/reader/draws_by_document.py, written from reader/DRAWS.md alone, computes."""

import sys
from pathlib import Path

import numpy
import pytest
import sluice

sys.path.append(str(Path(__file__).parents[1] / "reader"))
import draws_by_document as document  # noqa: E402

SAMPLES, SEED = 12, 6
SEQUENTIAL = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)
CROPS = [sluice.RandomResizedCrop(24), sluice.HorizontalFlip(), sluice.RandomCrop(16), sluice.RandomResizedCrop(20)]
BY_PAGE = [document.random_resized_crop(24, 24), document.horizontal_flip(), document.random_crop(16, 16),
           document.random_resized_crop(20, 20)]


def size_of(number):
    """Width and height of a sample's picture."""
    return 40 + number * 7 % 30, 40 + number * 11 % 40


def places(width, height):
    """A picture whose values are each pixel's x, y and 0."""
    y, x = numpy.mgrid[0:height, 0:width]
    return numpy.stack([x, y, 0 * x], axis=2).astype(numpy.uint8)


def write(folder, first, count):
    fields = [
        sluice.Field.image("image"),
        sluice.Field.image("other"),
        sluice.Field.variable("points", "float64", (2,), "keypoints", "image"),
        sluice.Field.label("label", [str(number) for number in range(SAMPLES)]),
    ]
    with sluice.Writer(folder, fields, image="raw") as writer:
        for number in range(first, first + count):
            width, height = size_of(number)
            corners = numpy.array([(0, 0), (width, 0), (0, height)], numpy.float64)
            writer.add(str(number), image=places(width, height), other=places(height, 50), points=corners, label=number)
    return folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write(tmp_path_factory.mktemp("draws") / "dataset", 0, SAMPLES)


def play(dataset, batch_size=5, epoch=0, **options):
    options = {"order": SEQUENTIAL, "seed": SEED, "transform": CROPS, **options}
    return sluice.Loader(dataset, batch_size, **options).epoch(epoch)


def check_corners(batches, steps, epoch, positions):
    """Compares where the corners of the pictures are moved to with the frames at these positions."""
    positions = iter(positions)
    for batch in batches:
        for row, number in enumerate(batch.samples.tolist()):
            width, height = size_of(number)
            frame = document.frame_of(steps, width, height, document.draw_seed(SEED, epoch), next(positions))
            xx, xy, x0, yx, yy, y0 = map(float, frame.map)
            moved = [(x0, y0), (xx * width + x0, yx * width + y0), (xy * height + x0, yy * height + y0)]
            numpy.testing.assert_allclose(batch["points"][row], moved, rtol=0, atol=1e-9)
    assert next(positions, None) is None


def test_crops_and_flips_are_those_of_the_page_also_by_a_schedule(dataset):
    later = [sluice.RandomResizedCrop(24, scale=(0.5, 0.9)), *CROPS]
    later_by_page = [document.random_resized_crop(24, 24, scale=(0.5, 0.9)), *BY_PAGE]
    for epoch in range(4):
        batches = play(dataset, epoch=epoch, schedule=[(2, later)])
        check_corners(batches, later_by_page if epoch >= 2 else BY_PAGE, epoch, range(SAMPLES))


def test_the_side_by_epoch_is_that_of_the_page(dataset):
    sizes = sluice.progressive_sizes(8, 21, 1, 6, 3)
    for epoch in range(8):
        side = document.progressive_side(epoch, 8, 21, 1, 6, 3)
        (batch,) = play(dataset, 12, epoch, sizes=sizes)
        assert batch["image"].numpy().shape[1:3] == (side, side)
        check_corners([batch], [*BY_PAGE[:3], document.random_resized_crop(side, side)], epoch, range(SAMPLES))


def test_rows_that_fill_up_and_composed_batches_have_the_positions_of_the_page(dataset):
    padded = sluice.RankOptions(last_batch=sluice.LastBatch.PAD)
    check_corners(play(dataset, ranks=padded), BY_PAGE, 0, [*range(SAMPLES), 0, 1, 2])
    order = sluice.OrderOptions(batches=lambda seed, epoch: [[7, 7], [7], [3, 7]])
    check_corners(play(dataset, order=order), BY_PAGE, 0, range(5))


def test_a_substitute_has_the_draws_of_the_sample_that_it_replaces(dataset):
    def refuse(sample):
        if sample.index == 3:
            raise ValueError

    substitute = sluice.IntegrityOptions(on_fault=sluice.OnFault.SUBSTITUTE)
    check_corners(play(dataset, sample_function=refuse, integrity=substitute), BY_PAGE, 0, range(SAMPLES))


def test_ranks_that_play_whole_shards_draw_at_the_positions_of_the_page(tmp_path):
    parts = [sluice.Dataset(write(tmp_path / str(part), 6 * part, 6)) for part in range(2)]
    for rank in range(2):
        ranks = sluice.RankOptions(rank, 2, by_shards=True)
        check_corners(play(sluice.Mixture(parts), ranks=ranks), BY_PAGE, 0, [q * 2 + rank for q in range(6)])


@pytest.mark.parametrize("field, view", [("second", 1), ("third", 2), ("other", 0)])
def test_views_and_further_images_are_cut_out_where_the_page_says(dataset, field, view):
    steps = [sluice.RandomCrop(20), sluice.HorizontalFlip(0.3)]
    views = [sluice.View("second", steps), sluice.View("third", steps)] if view else []
    output = sluice.OutputOptions(fields=["image"] if view else ["image", "other"])
    by_page = [document.random_crop(20, 20), document.horizontal_flip(0.3)]
    seed = document.draw_seed(SEED, 3, view)
    (batch,) = play(dataset, 12, 3, transform=steps, views=views, output=output)
    for number, pixels in enumerate(batch[field].numpy()):
        width, height = size_of(number)
        width, height = (height, 50) if field == "other" else (width, height)
        frame = document.frame_of(by_page, width, height, seed, number)
        xx, _, x0, _, _, y0 = frame.map
        columns = [(x + 0.5 - x0) / xx - 0.5 for x in range(20)]
        assert pixels[0, :, 0].tolist() == columns and pixels[:, 0, 1].tolist() == [y - y0 for y in range(20)]


def test_functions_draw_from_the_streams_of_the_page_also_where_samples_are_left_out(dataset):
    made = [sluice.Field.array("own", "float64"), sluice.Field.array("all", "float64")]

    def of_sample(sample):
        if sample.index in (3, 5):
            raise ValueError
        sample.field("own")[0] = sample.uniform() + sample.below(1000)

    def of_batch(batch):
        batch.field("all")[:] = batch.uniform()

    seed, played = document.draw_seed(SEED, 2), []
    for batch in play(dataset, 5, 2, sample_function=of_sample, batch_function=of_batch,
                      integrity=sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP),
                      output=sluice.OutputOptions(made_fields=made)):
        expected = document.Stream(seed, document.BATCH_FUNCTION, batch.index * 5).uniform()
        assert batch["all"].numpy().tolist() == [expected] * len(batch)
        for number, value in zip(batch.samples.tolist(), batch["own"].numpy().tolist(), strict=True):
            stream = document.Stream(seed, document.SAMPLE_FUNCTION, number)
            assert value == stream.uniform() + stream.below(1000)
            played.append(number)
    assert played == [0, 1, 2, 4, 6, 7, 8, 9, 10, 11]


def test_batches_are_mixed_by_the_shares_of_the_page(dataset):
    mixing = [sluice.Resize(20), sluice.OneHot(), sluice.MixUp(0.7), sluice.CutMix(), sluice.MixUp(2.5, 0.5)]
    seed = document.draw_seed(SEED, 1)
    for batch in play(dataset, 3, 1, transform=mixing, output=sluice.OutputOptions(fields=["image", "label"])):
        first = batch.index * 3
        shares = [document.mix_up(seed, first, 0.7), document.cut_mix(seed, first, 20, 20)[0],
                  document.mix_up(seed, first, 2.5, 0.5, k=1)]
        target = numpy.eye(SAMPLES)[first:first + 3]
        for share in shares:
            if share is not None:
                target = share * target + (1 - share) * numpy.roll(target, 1, axis=0)
        numpy.testing.assert_allclose(batch["target"].numpy(), target, atol=1e-6)


def test_the_examples_of_the_page_are_those_of_the_script():
    page = (Path(__file__).parents[2] / "reader/DRAWS.md").read_text(encoding="utf-8")
    assert document.examples() in page


def test_a_choice_takes_steps_lists_and_texts_and_draws_them_by_weight(raw):
    """Rows equal those of each list alone; their numbers fit the weights."""
    lists = [sluice.Invert(1), "solarize:128@1", []]

    def rows(transform):
        loader = sluice.Loader(raw, 8, transform=transform, seed=5)
        return {(epoch, int(sample)): pixels for epoch in range(60) for batch in loader.epoch(epoch)
                for sample, pixels in zip(numpy.array(batch.samples), numpy.array(batch["image"]))}

    chosen = rows([sluice.Resize(8), sluice.RandomChoice(lists, p=[3, 2, 1])])
    alone = [rows([sluice.Resize(8), sluice.RandomChoice([one])]) for one in lists]
    counts = numpy.zeros(3)
    for key, pixels in chosen.items():
        matches = [(pixels == one[key]).all() for one in alone]
        assert any(matches)
        counts += numpy.array(matches) / sum(matches)
    expected = len(chosen) * numpy.array([3, 2, 1]) / 6
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # two degrees of freedom, once in a thousand
