"""Steps of detectors, and the maps of batches: in numpy, by the rules of reader/TRANSFORMS.md."""

import numpy
import pytest

import sluice

SIDES = ((40, 30), (64, 64), (33, 90))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Raw pictures whose channels are x and y, with boxes."""
    path = str(tmp_path_factory.mktemp("frames") / "pictures")
    boxes = sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels")
    with sluice.Writer(path, [sluice.Field.image(), boxes], image="raw") as writer:
        for number in range(24):
            width, height = SIDES[number % 3]
            x, y = numpy.meshgrid(numpy.arange(width) + 0.5, numpy.arange(height) + 0.5)
            image = numpy.stack([x, y, x * 0], axis=2).astype("uint8")
            box = numpy.array([[2, 3, 22, 23]], "float32")
            writer.add(f"{number}", image=image, boxes=box)
    return path


def test_letterbox_is_undone_by_maps(pictures):
    for batch in sluice.Loader(pictures, 6, transform=[sluice.Letterbox(80, fill=9)]):
        maps = batch.maps()
        assert maps.shape == (6, 1, 3, 3) and maps.dtype == numpy.float64
        for row, number in enumerate(batch.samples):
            width, height = SIDES[number % 3]
            scale = min(80 / width, 80 / height)
            w, h = round(width * scale), round(height * scale)
            left, top = (round((80 - side) / 2 - 0.1) if side < 80 else 0 for side in (w, h))
            numpy.testing.assert_allclose(maps[row, 0], [[w / width, 0, left], [0, h / height, top], [0, 0, 1]])
            image = batch["image"].numpy()[row]
            assert (image[:, :left] == 9).all() and (image[:top] == 9).all()
            back = numpy.linalg.inv(maps[row, 0])
            x, y, _ = back @ (left + w / 2, top + h / 2, 1)
            assert numpy.allclose((x, y), (width / 2, height / 2))
            assert numpy.allclose(image[top + h // 2, left + w // 2, :2], (x, y), atol=1.6)


def test_boxes_are_moved_by_maps(pictures):
    steps = [sluice.RandomZoomOut(fill=114), sluice.RandomIoUCrop(), sluice.Resize(64), sluice.HorizontalFlip()]
    loader = sluice.Loader(pictures, 6, transform=steps, output=sluice.OutputOptions(boxes=sluice.BoxRule(0, 0)))
    moved = 0
    for batch in loader:
        boxes = batch["boxes"]
        for row in range(len(batch)):
            corners = batch.maps()[row, 0] @ numpy.array([[2, 3, 1], [22, 23, 1]]).T
            low, high = corners[:2].min(axis=1), corners[:2].max(axis=1)
            for box in numpy.asarray(boxes[row]):
                assert (box[:2] >= low - 1e-3).all() and (box[2:] <= high + 1e-3).all()
                moved += numpy.allclose(box, [*low.clip(0, 64), *high.clip(0, 64)], atol=1e-3)
    assert moved > 10


def test_refusals_name_the_step(pictures):
    def refused(steps, **options):
        with pytest.raises(sluice.Error) as error:
            sluice.Loader(pictures, 6, transform=steps, **options)
        return str(error.value)

    assert "RandomShortestSize draws the size of its result" in refused([sluice.RandomShortestSize([30, 40])])
    assert "RandomIoUCrop chooses its crop by the boxes" in refused(
        [sluice.RandomIoUCrop(), sluice.Resize(30)], output=sluice.OutputOptions(fields=["image"]))
    assert "may add borders of different kinds" in refused([sluice.Letterbox(64), sluice.FixedSizeCrop(80)])
    with pytest.raises(sluice.Error, match="makes a different row each time"):
        sluice.Preprocess(sluice.Loader(pictures, 6, transform="scalejitter:64,fixedcrop:64").pipeline())
    assert sluice.Preprocess("letterbox:64") is not None


def test_a_grey_border_is_refused_for_numbers_of_16_bits(tmp_path):
    path = str(tmp_path / "wide")
    with sluice.Writer(path, [sluice.Field.image()], image="raw") as writer:
        for number in range(6):
            writer.add(str(number), image=numpy.full((30, 40), 1000 + number, "uint16"))
    with pytest.raises(sluice.Error, match="Letterbox has a fill that is not black.*set its fill to 0"):
        sluice.Loader(path, 6, transform=[sluice.Letterbox(50)])
    for batch in sluice.Loader(path, 6, transform=[sluice.Letterbox(50, fill=0), sluice.RandomPerspective(0.3, 1)]):
        rows = batch["image"].numpy()
        for row, number in enumerate(batch.samples):
            # 25, 25 is the middle of the picture, whatever the corners.
            assert rows[row].max() == 1000 + number and rows[row][25, 25].max() == 1000 + number
            assert rows[row].min() == 0
