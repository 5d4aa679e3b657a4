"""What detectors need: boxes and masks in MixUp and CutMix, oriented boxes, fields that batch functions set."""

import json
import os
import subprocess

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
    loader = sluice.Loader(folder, 7, seed=3, transform=transform, **options)
    for batch in loader if "resume_from" in options else loader.epoch(epoch):
        ids = batch["id"].numpy()
        for row in range(len(batch)):
            found.append((int(ids[row]), int(ids[row - 1]), batch["image"].numpy()[row][..., 0].copy(),
                          corners(batch["boxes"][row]), batch["classes"][row].copy(), batch["points"][row].copy()))
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
    rest = rows(crowd, steps, output=output, resume_from=first.state())
    for a, b in zip(alone[21:], rest, strict=True):
        assert all((x == y).all() if isinstance(x, numpy.ndarray) else x == y for x, y in zip(a, b, strict=True))


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
        with pytest.raises(ValueError, match="entries of another shape"):
            batch.set_variable("boxes", 0, numpy.zeros((2, 6)))

    for batch in sluice.Loader(raw, 10, batch_function=change):
        for row, number in enumerate(batch.samples):
            before = boxes_of(number)
            assert (batch["boxes"][row] == numpy.vstack([before, before + 1, before])).all()
            assert batch["caption"][row] == f"row {row} of sample {number}"
            assert batch.has("caption")[row]


def rectangles(count, side, seed):
    """Corners of rectangles at any angle, some of which reach beyond a picture of that side."""
    random = numpy.random.default_rng(seed)
    centre = random.uniform(0, side, (count, 1, 2))
    angle = random.uniform(-numpy.pi, numpy.pi, count)
    along = numpy.stack([numpy.cos(angle), numpy.sin(angle)], 1)[:, None] * random.uniform(6, 20, (count, 1, 1))
    across = numpy.stack([-numpy.sin(angle), numpy.cos(angle)], 1)[:, None] * random.uniform(6, 20, (count, 1, 1))
    signs = numpy.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return centre + signs[:, :1] * along / 2 + signs[:, 1:] * across / 2


def oriented_dataset(folder, corners, side, coordinates="corners-pixels"):
    fields = [
        sluice.Field.image(),
        sluice.Field.variable("boxes", "float32", (8,), "boxes", "image", coordinates),
        sluice.Field.variable("number", "int32", (), "label", "image"),
    ]
    with sluice.Writer(folder, fields, image="raw") as writer:
        writer.add("a", image=numpy.zeros((side, side, 3), numpy.uint8),
                   boxes=corners.reshape(-1, 8).astype("float32"), number=numpy.arange(len(corners), dtype="int32"))
    return folder


def seen_by_points(box, size):
    """What of a box lies in a picture, found by a fine grid of points: area, and its extent along the box's sides."""
    along, across = box[1] - box[0], box[3] - box[0]
    lengths = numpy.hypot(*along), numpy.hypot(*across)
    grid = (numpy.mgrid[0:240, 0:240] + 0.5) / 240
    points = box[0] + grid[0][..., None] * along + grid[1][..., None] * across
    inside = ((points >= 0) & (points <= size)).all(-1)
    if not inside.any():
        return 0, None
    share = [(grid[axis][inside].min(), grid[axis][inside].max()) for axis in (0, 1)]
    return inside.mean() * lengths[0] * lengths[1], (box[0], along, across, share)


@pytest.mark.parametrize("coordinates", ["corners-pixels", "corners-relative"])
def test_an_oriented_box_that_an_edge_cuts_keeps_its_angle(tmp_path, coordinates):
    side, crop = 64, 40
    boxes = rectangles(400, side, 1)
    stored = boxes / side if coordinates == "corners-relative" else boxes
    folder = oriented_dataset(tmp_path / "dataset", stored, side, coordinates)
    rule = sluice.BoxRule(min_visible=0.3, min_side=3)
    batch = next(iter(sluice.Loader(folder, 1, transform=[sluice.CenterCrop(crop)],
                                    output=sluice.OutputOptions(boxes=rule))))
    found = dict(zip(batch["number"][0].tolist(), batch["boxes"][0].reshape(-1, 4, 2).astype("float64"), strict=True))
    whole = partly = dropped = 0
    for number, box in enumerate(boxes - (side - crop) / 2):
        got = found.get(number)
        if got is not None and coordinates == "corners-relative":
            got = got * crop
        area, seen = seen_by_points(box, crop)
        if seen is None:
            assert got is None
            continue
        first, along, across, share = seen
        sides = [(high - low) * numpy.hypot(*axis) for (low, high), axis in zip(share, (along, across), strict=True)]
        all_of_it = numpy.hypot(*along) * numpy.hypot(*across)
        # The grid is as fine as a tenth of a pixel, so what lies at the rule's limit is not judged.
        if min(sides) < 2.7 or area < 0.28 * all_of_it:
            assert got is None
            dropped += 1
        elif min(sides) > 3.3 and area > 0.32 * all_of_it:
            low, high = numpy.array(share).T
            expected = first + numpy.array([
                low[0] * along + low[1] * across, high[0] * along + low[1] * across,
                high[0] * along + high[1] * across, low[0] * along + high[1] * across])
            numpy.testing.assert_allclose(got, expected, atol=0.15)
            whole += area > 0.99 * all_of_it
            partly += area <= 0.99 * all_of_it
    assert whole > 50 and partly > 30 and dropped > 30


@pytest.mark.parametrize("steps, mapped", [
    ([sluice.HorizontalFlip(1)], lambda x, y: (64 - x, y)),
    ([sluice.VerticalFlip(1)], lambda x, y: (x, 64 - y)),
    ([sluice.Resize(32)], lambda x, y: (x / 2, y / 2)),
    ([sluice.HorizontalFlip(1), sluice.VerticalFlip(1)], lambda x, y: (64 - x, 64 - y)),
])
def test_oriented_boxes_go_through_flips_and_keep_their_direction(tmp_path, steps, mapped):
    boxes = rectangles(50, 24, 2) + 20  # all inside
    folder = oriented_dataset(tmp_path / "dataset", boxes, 64)
    batch = next(iter(sluice.Loader(folder, 1, transform=steps, output=sluice.OutputOptions(boxes=sluice.BoxRule(1)))))
    got = batch["boxes"][0].reshape(-1, 4, 2)
    assert len(got) == 50
    for box, found in zip(boxes, got, strict=True):
        points = sorted(mapped(x, y) for x, y in box)
        numpy.testing.assert_allclose(sorted(map(tuple, found.astype("float64"))), points, atol=2e-3)
        x, y = found[:, 0], found[:, 1]
        assert (x * numpy.roll(y, -1) - numpy.roll(x, -1) * y).sum() > 0


def test_oriented_boxes_are_refused_by_name_where_the_numbers_do_not_fit(tmp_path):
    with pytest.raises(sluice.Error, match="holds 4 numbers to a box, and its coordinates are \"corners-pixels\""):
        sluice.Writer(tmp_path / "dataset", [
            sluice.Field.image(), sluice.Field.variable("b", "float32", (4,), "boxes", "image", "corners-pixels")])
    with pytest.raises(sluice.Error, match="box 0 has a number that is not finite"):
        oriented_dataset(tmp_path / "nan", numpy.full((1, 4, 2), numpy.nan), 8)


def test_cutmix_takes_oriented_boxes(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (8,), "boxes", "image", "corners-pixels")]
    boxes = rectangles(40, 40, 4) + 12
    with sluice.Writer(tmp_path / "dataset", fields, image="raw") as writer:
        for number in range(40):
            writer.add(str(number), image=numpy.full((64, 64, 3), 6 * number, numpy.uint8),
                       boxes=boxes[number].reshape(1, 8).astype("float32"))
    cut = 0
    for epoch in range(10):
        for batch in sluice.Loader(tmp_path / "dataset", 8, transform=[sluice.CutMix(1)]).epoch(epoch):
            for row, own in enumerate(batch.samples):
                picture = batch["image"].numpy()[row][..., 0]
                got = batch["boxes"][row].reshape(-1, 4, 2)
                numpy.testing.assert_allclose(got[0], boxes[own], atol=1e-4)
                y, x = numpy.nonzero(picture != 6 * own)
                assert (len(got) == 2) == (len(x) > 0)
                if len(got) < 2:
                    continue
                cut += 1
                low, high = numpy.array([x.min(), y.min()]), numpy.array([x.max() + 1, y.max() + 1])
                area, _ = seen_by_points(boxes[own] - low, high - low)
                assert area == 0
                partner = boxes[batch.samples[row - 1]]
                area, (first, along, across, share) = seen_by_points(partner - low, high - low)
                begin, end = numpy.array(share).T
                expected = low + first + numpy.array([
                    begin[0] * along + begin[1] * across, end[0] * along + begin[1] * across,
                    end[0] * along + end[1] * across, begin[0] * along + end[1] * across])
                numpy.testing.assert_allclose(got[1], expected, atol=0.2)
    assert cut > 20


def export(*arguments):
    return subprocess.run([os.environ["SLUICE_COMMAND"], "export", *map(str, arguments)], capture_output=True, text=True)


def test_an_export_gives_cocos_file_back(tmp_path):
    images = [{"id": 900 - 7 * i, "file_name": f"{i}.ppm", "width": 40, "height": 30} for i in range(5)]
    (tmp_path / "images").mkdir()
    for image in images:
        (tmp_path / "images" / image["file_name"]).write_bytes(b"P6 40 30 255\n" + bytes(40 * 30 * 3))
    random = numpy.random.default_rng(3)
    annotations = []
    for number in range(20):
        x, y, width, height = (round(float(value), 2) for value in random.uniform(1, 14, 4))
        annotations.append({
            "id": number + 1, "image_id": images[number % 4]["id"], "category_id": [17, 3][number % 2],
            "bbox": [x, y, width, height], "iscrowd": number % 3 // 2, "keypoints": [x, y, 2, 0, 0, 0]})
    made = {"images": images, "annotations": annotations, "categories": [
        {"id": 17, "name": "cat", "keypoints": ["nose", "tail"]}, {"id": 3, "name": "dog", "keypoints": ["nose", "tail"]}]}
    (tmp_path / "coco.json").write_text(json.dumps(made))
    sluice.convert(sluice.ConvertSource.annotated("coco", tmp_path / "coco.json", tmp_path / "images"), tmp_path / "dataset")
    done = export(tmp_path / "dataset", tmp_path / "out", "--coco")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "instances.json").read_text())
    assert sorted(found["categories"], key=str) == sorted([{"id": 3, "name": "dog"}, {"id": 17, "name": "cat"}], key=str)
    assert {image["id"]: image["width"] for image in found["images"]} == {image["id"]: 40 for image in images}
    for image in found["images"]:
        assert (tmp_path / "out" / "images" / image["file_name"]).is_file()
    assert [one["id"] for one in found["annotations"]] == list(range(1, 21))

    def known(one):
        return one["image_id"], one["category_id"], one["iscrowd"], one["bbox"], one["keypoints"]

    assert sorted(map(known, found["annotations"])) == sorted(map(known, annotations))
    one = found["annotations"][0]
    assert one["area"] == pytest.approx(one["bbox"][2] * one["bbox"][3], abs=0.01) and one["num_keypoints"] == 1


def test_an_export_without_upright_boxes_has_no_cocos_file(raw, tmp_path):
    folder = oriented_dataset(tmp_path / "dataset", rectangles(1, 8, 1), 8)
    refused = export(folder, tmp_path / "out", "--coco")
    assert refused.returncode == 2 and "has oriented boxes" in refused.stderr


def test_a_size_is_drawn_for_each_few_batches_and_ranks_agree(raw):
    sides = [8, 12, 16]

    def sizes(rank, world_size, batch_size, epoch=0, threads=2):
        loader = sluice.Loader(raw, batch_size, seed=5, threads=threads, transform=[sluice.RandomResizedCrop(24)],
                               sizes=sluice.sizes_by_batch(sides, every=2),
                               ranks=sluice.RankOptions(rank=rank, world_size=world_size))
        return [batch["image"].shape[1:3] for batch in loader.epoch(epoch)]

    alone = sizes(0, 1, 2)
    assert all(height == width for height, width in alone) and {height for height, _ in alone} == set(sides)
    assert all(alone[i] == alone[i + 1] for i in range(0, 24, 2))
    assert sizes(0, 1, 2, threads=5) == alone and sizes(0, 1, 2, epoch=1) != alone
    assert sizes(0, 2, 1)[:24] == sizes(1, 2, 1)[:24] == alone[:24]


def test_a_resume_draws_the_same_sizes_and_a_row_has_that_of_its_batch(raw):
    def loader(resume_from=None):
        return sluice.Loader(raw, 5, transform=[sluice.RandomResizedCrop(24)], resume_from=resume_from,
                             sizes=sluice.sizes_by_batch([8, 12, 16, 20], every=1))

    whole = loader()
    want = [(batch["image"].shape, batch.samples.tolist()) for batch in whole.epoch(0)]
    assert len({shape for shape, _ in want}) > 1
    for shape, samples in want:
        assert whole.row(samples[2], 0)["image"].shape[1:] == shape[1:]
    first = loader()
    batches = iter(first)
    for _ in range(4):
        next(batches)
    rest = loader(first.state())
    assert [batch["image"].shape for batch in rest] == [shape for shape, _ in want[4:]]


def test_drawn_sizes_are_refused_where_rows_have_no_size_of_their_own(raw, tmp_path):
    sizes = sluice.sizes_by_batch([8, 12])
    with pytest.raises(sluice.Error, match="the size of its rows is drawn"):
        sluice.Loader(raw, 5, transform=[sluice.RandomResizedCrop(24)], sizes=sizes).pipeline()
    with pytest.raises(sluice.Error, match="sizes are drawn by batch"):
        sluice.Loader(raw, 5, transform=[sluice.RandomResizedCrop(24)], sizes=sizes,
                      share=sluice.SharedRows(folder=str(tmp_path), bytes=1 << 20))
    with pytest.raises(sluice.Error, match="has several sizes for epoch 0"):
        sluice.Loader(raw, 5, transform=[sluice.RandomResizedCrop(24)],
                      sizes=[sluice.OutputSize(0, 8, 8), sluice.OutputSize(0, 12, 12)])
    with pytest.raises(sluice.Error, match="at least one side"):
        sluice.sizes_by_batch([])


def test_two_images_of_one_id_have_no_cocos_file(tmp_path):
    (tmp_path / "images").mkdir()
    for name in "ab":
        (tmp_path / "images" / f"{name}.ppm").write_bytes(b"P6 8 8 255\n" + bytes(192))
        (tmp_path / f"{name}.json").write_text(json.dumps({
            "images": [{"id": 1, "file_name": f"{name}.ppm", "width": 8, "height": 8}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [1, 1, 4, 4]}],
            "categories": [{"id": 7, "name": "cat"}, {"id": 9 if name == "a" else 8, "name": "dog"}]}))
        sluice.convert(sluice.ConvertSource.annotated("coco", tmp_path / f"{name}.json", tmp_path / "images"),
                       tmp_path / name)
    merged = subprocess.run([os.environ["SLUICE_COMMAND"], "merge", str(tmp_path / "a"), str(tmp_path / "b"),
                             str(tmp_path / "all")], capture_output=True, text=True)
    assert merged.returncode == 0, merged.stderr  # other ids of categories
    (classes,) = [field for field in sluice.Dataset(tmp_path / "all").fields if field.name == "classes"]
    assert classes.classes == ["cat", "dog"] and not classes.attributes
    refused = export(tmp_path / "all", tmp_path / "out", "--coco")
    assert refused.returncode == 2 and "two images with the image_id 1" in refused.stderr


def test_a_resize_after_a_border_and_a_crop_plays_every_picture(tmp_path):
    with sluice.Writer(tmp_path / "dataset", [sluice.Field.image()], image="raw") as writer:
        for number in range(64):
            writer.add(str(number), image=numpy.zeros((375, 500, 3), numpy.uint8))
    for steps in "zoomout,resize:320,rrc:224", "crop:504+4,resize:224,rrc:160", "translate:10,short:100,rrc:64":
        loader = sluice.Loader(tmp_path / "dataset", 16, transform=steps)
        assert sum(len(batch) for epoch in range(3) for batch in loader.epoch(epoch)) == 3 * 64


def test_an_export_names_the_categories_of_numbered_classes(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels"),
              sluice.Field.variable("classes", "int32", (), "label", "image")]
    with sluice.Writer(str(tmp_path / "data"), fields, image="raw") as writer:
        for number in range(3):
            writer.add(f"{number}.png", image=numpy.zeros((8, 8, 3), "uint8"),
                       boxes=numpy.array([[1, 1, 4, 4]], "float32"), classes=numpy.array([2 * number], "int32"))
    made = subprocess.run([os.environ["SLUICE_COMMAND"], "export", str(tmp_path / "data"), str(tmp_path / "out"), "--coco"],
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    found = json.loads((tmp_path / "out" / "instances.json").read_text())
    assert found["categories"] == [{"id": 1, "name": "0"}, {"id": 3, "name": "2"}, {"id": 5, "name": "4"}]
    assert [one["category_id"] for one in found["annotations"]] == [1, 3, 5]
    taken = subprocess.run([os.environ["SLUICE_COMMAND"], "convert", str(tmp_path / "out"), str(tmp_path / "again"), "--take",
                            "boxes"], capture_output=True, text=True, check=False)
    assert taken.returncode == 2 and "--take chooses from label files" in taken.stderr
