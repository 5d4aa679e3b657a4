"""MixUp and CutMix with boxes and masks, and batch functions that set fields."""

import numpy
import pytest
import sluice
from conftest import boxes as boxes_of

SIDE = 64
COUNT = 60
FIELDS = [
    sluice.Field.image(),
    sluice.Field.variable("boxes", "float64", (4,), "boxes", "image", "cxcywh-relative"),
    sluice.Field.variable("classes", "int32", (), "none", "image"),
    sluice.Field.variable("points", "float32", (2, 3), "keypoints", "image"),
    sluice.Field.array("id", "int64"),
]


def objects(number):
    """Corners in pixels of 0 to 4 boxes of a sample, by its number."""
    random = numpy.random.default_rng(number)
    corners = []
    for _ in range(number % 5):
        left, top = random.uniform(0, SIDE - 12, 2)
        width, height = random.uniform(4, 12, 2)
        corners.append([left, top, left + width, top + height])
    return numpy.array(corners).reshape(-1, 4)


def points(number):
    """Of each object, its upper left corner and its middle, visible."""
    found = [[[left, top, 2], [(left + right) / 2, (top + bottom) / 2, 1]]
             for left, top, right, bottom in objects(number)]
    return numpy.array(found, numpy.float32).reshape(-1, 2, 3)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Grey pictures, of a level for each sample, with boxes, classes and points."""
    folder = tmp_path_factory.mktemp("crowd") / "dataset"
    with sluice.Writer(folder, FIELDS, image="raw") as writer:
        for number in range(COUNT):
            corners = objects(number)
            centre = (corners[:, :2] + corners[:, 2:]) / 2
            relative = numpy.hstack([centre, corners[:, 2:] - corners[:, :2]]) / SIDE
            writer.add(str(number), {
                "image": numpy.full((SIDE, SIDE, 3), 4 * number, numpy.uint8), "boxes": relative,
                "classes": numpy.arange(len(corners), dtype=numpy.int32) + 10 * number, "points": points(number),
                "id": number})
    return folder


def corners(relative):
    return numpy.hstack([relative[:, :2] - relative[:, 2:] / 2, relative[:, :2] + relative[:, 2:] / 2]) * SIDE


def rows(folder, transform, epoch=0, **options):
    """By row: its sample, its partner's, the picture's first channel, corners, classes and points."""
    found = []
    for batch in sluice.Loader(folder, 7, seed=3, transform=transform, **options).epoch(epoch):
        ids = batch["id"].numpy()
        for row in range(len(batch)):
            found.append((ids[row], ids[row - 1], batch["image"].numpy()[row][..., 0], corners(batch["boxes"][row]),
                          batch["classes"][row], batch["points"][row]))
    return found


def test_mixup_joins_the_boxes_of_both_samples(crowd):
    shares = []
    for epoch in range(20):
        for own, partner, picture, box, classes, point in rows(crowd, [sluice.MixUp(32, 0.5)], epoch):
            assert (picture == picture[0, 0]).all()
            joined = numpy.vstack([objects(own), objects(partner)])
            mixed = picture[0, 0] != 4 * own
            if not mixed:
                # A share is close to 1/2, so that mixing shows, except in pictures of nearly one level.
                joined = objects(own) if len(box) == len(objects(own)) else joined
                mixed = len(box) != len(objects(own))
            numpy.testing.assert_allclose(box, joined, atol=1e-4)
            assert len(classes) == len(point) == len(joined)
            if not mixed:
                continue
            expected = [*numpy.arange(len(objects(own))) + 10 * own, *numpy.arange(len(objects(partner))) + 10 * partner]
            assert list(classes) == expected
            assert (point == numpy.vstack([points(own), points(partner)])).all()
            if abs(own - partner) > 20:
                share = (picture[0, 0] / 4 - partner) / (own - partner)
                shares.append(share)
    # Drawn for each row from Beta(32, 32): its mean is 1/2 and its deviation 1/sqrt(4 * 65).
    assert len(shares) > 150
    assert abs(numpy.mean(shares) - 0.5) < 0.02 and abs(numpy.std(shares) - 0.062) < 0.012


def test_cutmix_touches_no_own_box_and_takes_those_of_the_partner_that_it_shows(crowd):
    cut_rows = 0
    for epoch in range(30):
        for own, partner, picture, box, classes, point in rows(crowd, [sluice.CutMix(1, 0.9)], epoch):
            y, x = numpy.nonzero(picture != 4 * own)
            mine = objects(own)
            if len(x) == 0:
                numpy.testing.assert_allclose(box, mine, atol=1e-4)
                continue
            cut_rows += 1
            left, top, right, bottom = x.min(), y.min(), x.max() + 1, y.max() + 1
            assert (picture[top:bottom, left:right] == 4 * partner).all()
            assert len(x) == (right - left) * (bottom - top)
            inside = numpy.maximum(0, numpy.minimum(mine[:, 2:], (right, bottom)) - numpy.maximum(mine[:, :2], (left, top)))
            assert (inside.prod(1) == 0).all()
            theirs = objects(partner)
            low = numpy.maximum(theirs[:, :2], (left, top))
            high = numpy.minimum(theirs[:, 2:], (right, bottom))
            share = numpy.maximum(0, high - low).prod(1) / (theirs[:, 2:] - theirs[:, :2]).prod(1)
            kept = share >= 0.1
            assert kept.any()
            numpy.testing.assert_allclose(box, numpy.vstack([mine, numpy.hstack([low, high])[kept]]), atol=1e-4)
            assert list(classes[len(mine):]) == list((numpy.arange(len(theirs)) + 10 * partner)[kept])
            moved = points(partner)[kept]
            seen = ((moved[..., :2] >= (left, top)) & (moved[..., :2] <= (right, bottom))).all(-1)
            moved[..., 2] = numpy.where(seen, moved[..., 2], 0)
            numpy.testing.assert_allclose(point[len(mine):], moved, atol=1e-4)
    assert cut_rows > 100


def test_mixing_boxes_does_not_depend_on_threads_or_a_resume(crowd):
    steps = [sluice.HorizontalFlip(), sluice.MixUp(32, 0.5), sluice.CutMix(1, 0.5)]
    output = sluice.OutputOptions(flip_pairs="none")
    alone = rows(crowd, steps, threads=1, output=output)
    together = rows(crowd, steps, threads=4, output=output)
    for a, b in zip(alone, together, strict=True):
        assert all((x == y).all() if isinstance(x, numpy.ndarray) else x == y for x, y in zip(a, b, strict=True))
    first = sluice.Loader(crowd, 7, seed=3, transform=steps, output=output)
    batches = iter(first)
    for _ in range(3):
        next(batches)
    state = first.state()
    rest = sluice.Loader(crowd, 7, seed=3, transform=steps, output=output)
    rest.load_state(state)
    want = sluice.Loader(crowd, 7, seed=3, transform=steps, output=output).epoch(0)
    for a, b in zip(list(want)[3:], rest, strict=True):
        assert (a["image"].numpy() == b["image"].numpy()).all()
        assert all((a["boxes"][row] == b["boxes"][row]).all() for row in range(len(a)))


def test_a_onehot_of_the_classes_of_boxes_is_mixed_by_the_share_of_each_row(tmp_path):
    with sluice.Writer(tmp_path / "dataset", [
            sluice.Field.image(), sluice.Field.label("label", ["a", "b"]),
            sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels")], image="raw") as writer:
        for number in range(20):
            writer.add(str(number), image=numpy.full((8, 8, 3), 200 * (number % 2), numpy.uint8), label=number % 2,
                       boxes=numpy.array([[0, 0, 4, 4]], numpy.float32))
    order = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)
    batch = next(iter(sluice.Loader(tmp_path / "dataset", 20, transform=[sluice.OneHot(), sluice.MixUp(1)], order=order)))
    share = batch["image"].numpy()[:, 0, 0, 0] / 200
    numpy.testing.assert_allclose(batch["target"].numpy()[:, 1], share, atol=0.003)
    assert len(set(share)) > 10


def test_cutmix_cuts_the_mask_at_the_same_place(tmp_path):
    with sluice.Writer(tmp_path / "dataset", [sluice.Field.image(), sluice.Field.mask("mask", "image")],
                       image="raw") as writer:
        for number in range(20):
            writer.add(str(number), image=numpy.full((32, 32, 3), 10 * number, numpy.uint8),
                       mask=numpy.full((32, 32), number, numpy.uint8))
    loader = sluice.Loader(tmp_path / "dataset", 5, transform=[sluice.CutMix(1)])
    both = 0
    for batch in loader:
        assert (batch["image"].numpy()[..., 0] == 10 * batch["mask"].numpy()[..., 0]).all()
        both += sum(len(numpy.unique(mask)) == 2 for mask in batch["mask"].numpy())
    assert both > 10
    with pytest.raises(sluice.Error, match="field \"mask\" follows the image .* MixUp cannot mix a mask's numbers"):
        sluice.Loader(tmp_path / "dataset", 5, transform=[sluice.MixUp(1)])


def test_one_box_of_a_sample_cannot_hold_those_of_two(tmp_path):
    with sluice.Writer(tmp_path / "dataset", [
            sluice.Field.image(), sluice.Field.array("box", "float32", (4,), "boxes", "image", "xyxy-pixels")],
            image="raw") as writer:
        writer.add("a", image=numpy.zeros((8, 8, 3), numpy.uint8), box=numpy.zeros(4, numpy.float32))
    with pytest.raises(sluice.Error, match="field \"box\" .* has no room for the boxes of two samples"):
        sluice.Loader(tmp_path / "dataset", 1, transform=[sluice.CutMix(1)])


def test_a_batch_function_sets_fields_of_any_length(raw):
    def change(batch):
        for row in range(len(batch)):
            before = batch.variable("boxes", row)
            batch.set_variable("boxes", row, numpy.vstack([before, before + 1, before]))
            batch.set_variable("caption", row, f"row {row} of sample {batch.samples[row]}")
        with pytest.raises(IndexError):
            batch.variable("boxes", len(batch))
        with pytest.raises(sluice.Error, match="is asked for row 99"):
            batch.set_variable("boxes", 99, numpy.zeros((1, 4)))
        with pytest.raises(sluice.Error, match="whole number of entries"):
            batch.set_variable("boxes", 0, numpy.zeros(3))

    for batch in sluice.Loader(raw, 10, batch_function=change):
        for row, number in enumerate(batch.samples):
            before = boxes_of(number)
            assert (batch["boxes"][row] == numpy.vstack([before, before + 1, before])).all()
            assert batch["caption"][row] == f"row {row} of sample {number}"
            assert batch.has("caption")[row]
