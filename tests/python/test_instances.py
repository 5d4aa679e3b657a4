"""Instances: the outlines and runs of objects follow their picture. Outlines are rectangles of whole pixels, which each
way of filling fills alike, so that numpy gives the expected pixels."""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image

import sluice

WIDTH, HEIGHT = 64, 48
OBJECTS = [
    # Whole pixels, so that every way to fill agrees.
    {"bbox": [4, 6, 20, 12], "segmentation": [[4, 6, 24, 6, 24, 18, 4, 18]]},
    {"bbox": [40, 20, 16, 20], "segmentation": [[40, 20, 48, 20, 48, 40, 40, 40], [52, 20, 56, 20, 56, 40, 52, 40]]},
    {"bbox": [0, 0, 1, 48], "iscrowd": 1, "segmentation": {"size": [48, 64], "counts": [0, 48, 48 * 63]}},
]


def mask_of(segmentation):
    mask = np.zeros((HEIGHT, WIDTH), bool)
    if isinstance(segmentation, dict):
        mask[:, 0] = True
    else:
        for x0, y0, x1, _, _, y1, *_ in segmentation:
            mask[y0:y1, x0:x1] = True
    return mask


MASKS = np.array([mask_of(one["segmentation"]) for one in OBJECTS])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("instances")
    (root / "images").mkdir()
    names = [f"{i}.png" for i in range(8)]
    for name in names:
        Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(root / "images" / name)
    coco = {
        "images": [{"id": i, "file_name": name, "width": WIDTH, "height": HEIGHT} for i, name in enumerate(names)],
        "categories": [{"id": 1, "name": "thing"}],
        "annotations": [
            {"id": 10 * i + k, "image_id": i, "category_id": 1, **one} for i in range(8) for k, one in enumerate(OBJECTS)
        ],
    }
    (root / "coco.json").write_text(json.dumps(coco))
    source = sluice.ConvertSource.annotated(sluice.AnnotationFormat.COCO, root / "coco.json", root / "images")
    source.label_files.parts = sluice.AnnotationParts(instances=True)
    sluice.convert(source, root / "data")
    return root / "data"


def decoded(value, width, height):
    """By FORMAT.md alone."""
    (count,) = struct.unpack_from("<I", value)
    ends = struct.unpack_from(f"<{count}I", value, 4)
    at, masks = 4 + 4 * count, []
    for end in ends:
        (head,) = struct.unpack_from("<I", value, at)
        assert head & 1
        runs = np.frombuffer(value, "<u4", head >> 1, at + 4)
        assert runs.sum() == width * height
        masks.append(np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T)
        at += 4 + 4 * (head >> 1)
        assert at == 4 + 4 * count + end
    return np.array(masks).reshape(count, height, width)


def of_runs(runs, height, width):
    """COCO's uncompressed RLE: pixels outside and inside in turns, down the columns."""
    masks = [np.repeat(np.arange(len(one["counts"])) % 2 == 1, one["counts"]).reshape(width, height).T for one in runs]
    return np.array(masks, bool).reshape(len(runs), height, width)


def rows(dataset, transform, **options):
    loader = sluice.Loader(dataset, batch_size=4, transform=transform, **options)
    for batch in loader:
        for row in range(len(batch)):
            shape = np.asarray(batch["image"]).shape
            height, width = shape[1:3] if shape[-1] == 3 else shape[2:]
            yield decoded(bytes(batch["instances"][row]), width, height), np.asarray(batch["boxes"][row]), width, height


def test_without_steps_instances_are_runs_of_the_picture(dataset):
    for masks, boxes, _, _ in rows(dataset, []):
        assert np.array_equal(masks, MASKS)
        assert len(boxes) == 3


def test_a_crop_shows_what_it_shows_and_drops_boxes_and_instances_together(dataset):
    for masks, boxes, _, _ in rows(dataset, [sluice.CenterCrop(32)]):  # x 16..48, y 8..40
        assert np.array_equal(masks, MASKS[:2, 8:40, 16:48])
        assert len(boxes) == 2


def test_a_mirrored_row_has_mirrored_instances(dataset):
    for masks, boxes, _, _ in rows(dataset, [sluice.HorizontalFlip(1.0)]):
        assert np.array_equal(masks, MASKS[:, :, ::-1])


def test_a_resize_scales_them(dataset):
    for masks, boxes, width, height in rows(dataset, [sluice.Resize((96, 128))]):
        large = MASKS.repeat(2, 1).repeat(2, 2)
        assert np.array_equal(masks, large)


def test_instances_need_their_boxes(dataset):
    with pytest.raises(sluice.Error, match="name these boxes"):
        sluice.Loader(dataset, batch_size=4, output=sluice.OutputOptions(fields=["image", "instances"]),
                      transform=[sluice.Resize(64)])


@pytest.mark.parametrize("steps", [[], [sluice.CenterCrop(40)], [sluice.Mosaic(40), sluice.RandomCrop(64)]])
def test_instances_are_given_as_masks(dataset, steps):
    order = sluice.OrderOptions(lanes=8, shuffle="random")
    for batch in sluice.Loader(dataset, batch_size=4, transform=steps, order=order):
        height, width = batch["image"].shape[1:3]
        for row in range(len(batch)):
            value = bytes(batch["instances"][row])
            masks = decoded(value, width, height)
            assert len(masks) == len(batch["boxes"][row]) and (len(steps) < 2 or len(masks) > 3)
            assert np.array_equal(sluice.instance_masks(value, height, width), masks)
            bits = sluice.instance_masks(value, height, width, "bits")
            assert np.array_equal(np.unpackbits(bits, axis=-1, count=width).astype(bool), masks)
            index = np.zeros((height, width), int)
            for number in sorted(range(len(masks)), key=lambda i: (-masks[i].sum(), i)):
                index[masks[number]] = number + 1
            assert np.array_equal(sluice.instance_masks(value, height, width, "index"), index)
            assert np.array_equal(sluice.instance_masks(value, height, width, ratio=4), masks[:, 2::4, 2::4])
            with pytest.raises(ValueError, match="no runs of an image"):
                sluice.instance_masks(value, height + 1, width)
            runs = sluice.instance_masks(value, height, width, "runs")
            assert [one["size"] for one in runs] == [[height, width]] * len(masks)
            assert np.array_equal(of_runs(runs, height, width), masks)
            small = sluice.instance_masks(value, height, width, "runs", ratio=4)
            assert np.array_equal(of_runs(small, height // 4, width // 4), masks[:, 2::4, 2::4])
    with pytest.raises(ValueError, match="not 'polygons'"):
        sluice.instance_masks(value, height, width, "polygons")


def test_masks_that_do_not_fit_into_memory_are_refused_with_ways_out(dataset, monkeypatch):
    monkeypatch.setattr("sluice._instances._available_memory", lambda: 3 * 48 * 64 - 1)
    value = bytes(next(iter(sluice.Loader(dataset, 1)))["instances"][0])
    with pytest.raises(MemoryError, match=r"^3 masks of 48 x 64 pixels .* take 0 MB.*'bits'.*'runs', for a ratio.*most="):
        sluice.instance_masks(value, 48, 64)
    for form, ratio in ("bits", 1), ("index", 1), ("runs", 1), ("masks", 2):
        sluice.instance_masks(value, 48, 64, form, ratio)


def test_targets_have_masks(dataset):
    torch = pytest.importorskip("torch")
    for batch in sluice.Loader(dataset, batch_size=4, transform=[sluice.CenterCrop(32)]):
        for target in batch.targets("torchvision"):
            assert torch.equal(target["masks"].bool(), torch.from_numpy(MASKS[:2, 8:40, 16:48]))
        assert torch.equal(batch.targets("transformers")[0]["mask_labels"], batch.targets("torchvision")[0]["masks"])
        index = batch.targets("ultralytics")["masks"]
        assert index.shape == (4, 8, 8) and set(index.unique().tolist()) == {0, 1, 2}


def test_index_masks_of_padded_rows_have_the_last_pixels_of_each_image(tmp_path):
    torch = pytest.importorskip("torch")
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image"),
              sluice.Field.bytes("instances", "instances", "image")]
    sizes = [(40, 43), (3, 80), (41, 2)]  # height, width: also of fewer pixels than the ratio
    with sluice.Writer(tmp_path / "padded", fields) as writer:
        for number, (height, width) in enumerate(sizes):
            mask = np.zeros((height, width), bool)
            mask[:, -3:] = True
            writer.add(str(number), image=np.zeros((height, width, 3), np.uint8),
                       boxes=[[max(width - 3, 0), 0, width, height]], instances=[mask])
    for batch in sluice.Loader(tmp_path / "padded", 3, output=sluice.OutputOptions(image_sizes="padded")):
        index = batch.targets("ultralytics")["masks"].numpy()
        whole = torch.stack([target["masks"][0] for target in batch.targets("torchvision")])
        assert index.shape == (3, 41 // 4, 80 // 4)
        assert (index == whole.numpy()[:, 2::4, 2::4][:, :10, :20]).all()


# The rules of BoxRule, on objects of which each has a class of its own. What a row should show of them follows from
# batch.maps(), because crops and flips move whole pixels.

RULED = [(3, 4, 24, 20), (20, 2, 61, 5), (30, 10, 38, 44), (0, 30, 9, 48), (41, 20, 43, 40), (50, 12, 63, 33)]  # corners
MARGIN = 2  # the boxes of the label file are larger than the masks by this


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    root = tmp_path_factory.mktemp("ruled")
    (root / "images").mkdir()
    images, annotations = [], []
    for i in range(24):
        Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(root / "images" / f"{i}.png")
        images.append({"id": i, "file_name": f"{i}.png", "width": WIDTH, "height": HEIGHT})
        for k, (x0, y0, x1, y1) in enumerate(RULED):
            one = {"bbox": [x0 - MARGIN, y0 - MARGIN, x1 - x0 + 2 * MARGIN, y1 - y0 + 2 * MARGIN]}
            if k != 5:  # an object without an outline
                one["segmentation"] = [[x0, y0, x1, y0, x1, y1, x0, y1]]
            annotations.append({"id": 10 * i + k, "image_id": i, "category_id": k + 1, **one})
    coco = {"images": images, "categories": [{"id": k + 1, "name": f"thing {k}"} for k in range(6)],
            "annotations": annotations}
    (root / "coco.json").write_text(json.dumps(coco))
    source = sluice.ConvertSource.annotated("coco", root / "coco.json", root / "images")
    source.label_files.parts = sluice.AnnotationParts(instances=True)
    sluice.convert(source, root / "data")
    return root / "data"


def shown_of(one, size):
    """What a row of that size shows of each object: (its mask, its moved box before and after cutting)."""
    height, width = size
    inverse = np.linalg.inv(one)
    x, y, _ = np.einsum("ij,jhw->ihw", inverse, np.array([*np.mgrid[0.5:height, 0.5:width][::-1], np.ones(size)]))
    corners = np.array(RULED, float) + [-MARGIN, -MARGIN, MARGIN, MARGIN]
    corners[:, 0::2], corners[:, 1::2] = corners[:, 0::2].clip(0, WIDTH), corners[:, 1::2].clip(0, HEIGHT)  # as COCO's are
    for k, (x0, y0, x1, y1) in enumerate(RULED):
        mask = (x > x0) & (x < x1) & (y > y0) & (y < y1) & (k != 5)
        ends = one @ np.array([corners[k][0::2], corners[k][1::2], [1, 1]])
        whole = np.array([ends[0].min(), ends[1].min(), ends[0].max(), ends[1].max()])
        yield mask, whole, whole.clip(0, [width, height, width, height])


def expected(one, size, rule):
    """The classes, boxes and masks of a row, by the rule as TRANSFORMS.md states it."""
    kept = []
    for k, (mask, whole, box) in enumerate(shown_of(one, size)):
        if rule.from_masks and k != 5:
            lines, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
            box = np.array([columns[0], lines[0], columns[-1] + 1, lines[-1] + 1]) if len(lines) else np.zeros(4)
        width, height = box[2] - box[0], box[3] - box[1]
        area = (whole[2] - whole[0]) * (whole[3] - whole[1])
        fits = min(width, height) >= rule.min_side and width * height > 0 and width * height >= rule.min_visible * area
        if rule.max_aspect is not None:
            fits = fits and max(width, height) <= rule.max_aspect * min(width, height)
        if fits and mask.sum() >= rule.min_mask:
            kept.append((k, box, mask))
    if rule.most is not None:
        largest = sorted(range(len(kept)), key=lambda i: -np.prod(kept[i][1][2:] - kept[i][1][:2]))[:rule.most]
        kept = [kept[i] for i in sorted(largest)]
    return kept


RULES = {
    "boxes from masks": sluice.BoxRule(from_masks=True),
    "boxes from masks, with limits": sluice.BoxRule(3, 0.3, max_aspect=4, from_masks=True),
    "a smallest mask": sluice.BoxRule(min_mask=60),
    "an aspect": sluice.BoxRule(max_aspect=2.5),
    "the largest": sluice.BoxRule(most=2),
    "all of it": sluice.BoxRule(2, 0.1, 12, 5, True, 2),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("steps", [
    [sluice.HorizontalFlip()],
    [sluice.RandomCrop(24), sluice.HorizontalFlip(), sluice.VerticalFlip()],
    [sluice.RandomZoomOut(side_range=(1, 1.5)), sluice.RandomCrop(40, 8)]], ids=["whole", "crops", "borders"])
def test_a_rule_keeps_boxes_classes_and_instances_in_step(ruled, rule, steps):
    # Without threads, no row is made ahead, and counted.
    loader = sluice.Loader(ruled, 8, threads=0, transform=steps, output=sluice.OutputOptions(boxes=rule))
    left_out = 0
    for batch in (batch for epoch in range(5) for batch in loader.epoch(epoch)):
        for row in range(len(batch)):
            size = batch["image"].shape[1:3]
            want = expected(batch.maps()[row, 0], size, rule)
            assert np.asarray(batch["classes"][row]).tolist() == [k for k, _, _ in want]
            assert np.allclose(np.asarray(batch["boxes"][row]), np.array([box for _, box, _ in want]).reshape(-1, 4), atol=1e-4)
            masks = decoded(bytes(batch["instances"][row]), size[1], size[0])
            assert len(masks) == len(want) and all((a == b).all() for a, (_, _, b) in zip(masks, want, strict=True))
            all_kept = sluice.BoxRule(rule.min_side, rule.min_visible, rule.max_aspect, rule.min_mask, rule.from_masks)
            left_out += len(expected(batch.maps()[row, 0], size, all_kept)) - len(want)
    assert loader.stats().left_out_objects == left_out and (left_out > 0) == (rule.most is not None)


def test_rules_of_masks_hold_without_steps_too(ruled):
    rule = sluice.BoxRule(from_masks=True, most=3)
    for batch in sluice.Loader(ruled, 8, output=sluice.OutputOptions(boxes=rule)):
        for row in range(8):
            assert np.asarray(batch["boxes"][row]).tolist() == [list(RULED[0]), list(RULED[2]), [48, 10, 64, 35]]
            assert np.asarray(batch["classes"][row]).tolist() == [0, 2, 5]
            assert len(decoded(bytes(batch["instances"][row]), WIDTH, HEIGHT)) == 3


@pytest.mark.parametrize("rule", [sluice.BoxRule(0, 0, from_masks=True, most=5), sluice.BoxRule(0, 0, most=7)])
def test_a_mosaic_has_the_largest_objects_of_its_four_samples(ruled, rule):
    every = sluice.BoxRule(0, 0, from_masks=rule.from_masks)
    loaders = [sluice.Loader(ruled, 8, threads=0, transform=[sluice.Mosaic(48), sluice.RandomCrop(72)],
                             order=sluice.OrderOptions(lanes=8, shuffle="random"),
                             output=sluice.OutputOptions(boxes=boxes)) for boxes in (every, rule)]
    count = 0
    for whole, some in zip(*loaders, strict=True):
        for row in range(8):
            boxes, classes = np.asarray(whole["boxes"][row]), np.asarray(whole["classes"][row])
            sides = boxes[:, 2:].astype(float) - boxes[:, :2]
            area = sides[:, 0] * sides[:, 1]
            kept = sorted(sorted(range(len(area)), key=lambda i: -area[i])[:rule.most])
            assert np.array_equal(np.asarray(some["boxes"][row]), boxes[kept])
            assert np.array_equal(np.asarray(some["classes"][row]), classes[kept])
            masks = [decoded(bytes(batch["instances"][row]), 72, 72) for batch in (whole, some)]
            assert np.array_equal(masks[0][kept], masks[1])
            count += len(area) - len(kept)
    assert loaders[1].stats().left_out_objects == count > 0 == loaders[0].stats().left_out_objects
    assert loaders[1].memory()["variable"] < loaders[0].memory()["variable"]


@pytest.mark.parametrize("degrees", [0, 25])
def test_runs_follow_a_mosaic_that_is_turned(dataset, degrees):
    steps = [sluice.Mosaic(60), sluice.RandomAffine(degrees, scale=(0.6, 1.4), size=96, fill=[114] * 3)]
    order = sluice.OrderOptions(lanes=8, shuffle="random")
    shown = 0
    for batch in sluice.Loader(dataset, batch_size=4, transform=steps, order=order,
                               output=sluice.OutputOptions(boxes=sluice.BoxRule(0, 0))):
        for row in range(len(batch)):
            masks = decoded(bytes(batch["instances"][row]), 96, 96)
            # The crowd, which is stored in runs, is the picture's first column.
            found = masks[np.asarray(batch["crowd"][row]) == 1].any(0)
            y, x = np.mgrid[0.5:96, 0.5:96]
            near = np.zeros((96, 96), bool)
            for one in batch.maps()[row]:
                u, v, _ = np.einsum("ij,jhw->ihw", np.linalg.inv(one), np.array([x, y, np.ones_like(x)]))
                pixel = 1.5 / np.sqrt(abs(np.linalg.det(one)))  # of the row, in pixels of the picture
                near |= (u > -pixel) & (u < 1 + pixel) & (v > -pixel) & (v < HEIGHT + pixel)
            assert not found[~near].any()
            shown += found.sum()
    assert shown > 200


def test_rules_without_what_they_look_at_are_refused(ruled, raw, jpeg):
    def refused(dataset, words, fields=(), **rule):
        output = sluice.OutputOptions(fields=list(fields), boxes=sluice.BoxRule(**rule))
        with pytest.raises(sluice.Error, match=words):
            sluice.Loader(dataset, 4, transform=[sluice.CenterCrop(16)], output=output)

    refused(raw, r"BoxRule\(min_mask=...\)\) looks at the masks.*no field of instances.*--take boxes,instances", min_mask=1)
    refused(ruled, r"BoxRule\(from_masks=...\)\) looks at the masks.*no field of instances", ["image", "boxes"], from_masks=True)
    refused(jpeg, r"BoxRule\(most=...\)\) is the most boxes of a row.*no field of boxes", most=9)
    refused(ruled, r"BoxRule\(max_aspect=...\)\) must be at least 1", max_aspect=0.5)
    refused(ruled, r"BoxRule\(max_aspect=...\)\) must be at least 1", max_aspect=float("nan"))
    refused(ruled, r"BoxRule\(most=...\)\) must be at least 1", most=0)
    with pytest.raises((TypeError, OverflowError, ValueError)):
        sluice.BoxRule(min_mask=-1)


# YOLO's label files of outlines, converted by the command.

STAR = [(0.11, 0.2), (0.52, 0.31), (0.9, 0.08), (0.7, 0.55), (0.83, 0.95), (0.4, 0.6)]  # shares of width and height
TRIANGLE = [(0.62, 0.61), (0.97, 0.7), (0.66, 0.99)]


def covered(outline, width, height, scale=16):
    """The share of each pixel that lies inside, by the even-odd rule over scale x scale points of it."""
    y, x = np.mgrid[0:height * scale, 0:width * scale] / scale + 0.5 / scale
    inside = np.zeros(x.shape, bool)
    corners = [(a * width, b * height) for a, b in outline]
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        if y0 != y1:
            inside ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return inside.reshape(height, scale, width, scale).mean((1, 3))


@pytest.mark.parametrize("steps, part", [([], (0, 0, 40, 30)), ([sluice.CenterCrop(20)], (10, 5, 30, 25))])
def test_yolos_outlines_become_the_runs_of_their_pixels(tmp_path, steps, part):
    lines = [f"{k} " + " ".join(f"{number}" for corner in outline for number in corner)
             for k, outline in enumerate([STAR, TRIANGLE])]
    for number in range(4):
        (tmp_path / "set" / "images").mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / "labels").mkdir(exist_ok=True)
        (tmp_path / "set" / "images" / f"{number}.ppm").write_bytes(b"P6 40 30 255\n" + bytes(40 * 30 * 3))
        (tmp_path / "set" / "labels" / f"{number}.txt").write_text("\n".join(lines[:1 + number % 2]) + "\n")
    done = subprocess.run([os.environ["SLUICE_COMMAND"], "convert", "--yolo", "set", "set", "data", "--take",
                           "boxes,instances", "--no-resize"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    x0, y0, x1, y1 = part
    names = [sample.key for sample in sluice.Dataset(tmp_path / "data")]
    for batch in sluice.Loader(tmp_path / "data", 4, transform=steps, output=sluice.OutputOptions(boxes=sluice.BoxRule(0))):
        for row, sample in enumerate(batch.samples):
            count = 1 + int(pathlib.Path(names[sample]).stem) % 2
            masks = decoded(bytes(batch["instances"][row]), x1 - x0, y1 - y0)
            assert len(masks) == len(batch["boxes"][row]) == count
            for mask, outline in zip(masks, [STAR, TRIANGLE][:count], strict=True):
                share = covered(outline, 40, 30)[y0:y1, x0:x1]
                # pycocotools fills to the outline's edge, which it rounds to a fifth of a pixel.
                assert mask[share > 0.9].all() and not mask[share == 0].any()
                assert ((share > 0.5) != mask).sum() <= 0.1 * mask.sum()


FIELDS = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image"),
          sluice.Field.bytes("instances", "instances", "image")]
BOXES = [[4, 6, 24, 18], [40, 20, 56, 40], [0, 0, 1, 48]]


@pytest.mark.parametrize("form", ["coco", "masks", "value"])
def test_a_writer_stores_instances(tmp_path, form):
    objects = MASKS if form == "masks" else [one["segmentation"] for one in OBJECTS]
    with sluice.Writer(tmp_path / "data", FIELDS, image="raw") as writer:
        for number in range(4):
            value = sluice.pack_instances(objects) if form == "value" else list(objects)
            writer.add(str(number), image=np.zeros((HEIGHT, WIDTH, 3), np.uint8), boxes=BOXES, instances=value)
    field = sluice.Dataset(tmp_path / "data").fields[2]
    assert (field.role, field.follows) == ("instances", "image")
    for batch in sluice.Loader(tmp_path / "data", 4, transform=[sluice.CenterCrop(32)]):
        for row in range(4):
            masks = sluice.instance_masks(bytes(batch["instances"][row]), 32, 32)
            assert np.array_equal(masks, MASKS[:2, 8:40, 16:48])


def test_an_outline_of_decimals_covers_what_pycocotools_gives(tmp_path):
    # frPyObjects() of these decimals; of their float32, three pixels would be others.
    outline = [7.2, 19.8, 7.2, 16.3, 18.2, 8.3, 9.7, 7.8]
    runs = [184, 2, 20, 1, 18, 6, 17, 6, 18, 5, 19, 4, 20, 4, 20, 3, 21, 2, 22, 2, 22, 1, 159]
    with sluice.Writer(tmp_path / "data", FIELDS, image="raw") as writer:
        writer.add("k", image=np.zeros((24, 24, 3), np.uint8), boxes=[[7, 8, 18, 20]], instances=[[outline]])
    (batch,) = sluice.Loader(tmp_path / "data", 1)
    assert bytes(batch["instances"][0]) == sluice.pack_instances([{"size": [24, 24], "counts": runs}])


def test_packed_instances_are_those_of_the_format():
    square = [[1, 2, 5, 2, 5, 7.5, 1, 7.5]]
    expected = struct.pack("<5I8f", 3, 36, 36, 56, 8 << 1, *square[0]) + struct.pack("<5I", 4 << 1 | 1, 2, 1, 2, 1)
    mask = np.array([[0, 0], [0, 0], [1, 1]], bool)  # 3 x 2, down the columns: 0 0 1 0 0 1
    for runs in mask, {"size": [3, 2], "counts": [2, 1, 2, 1]}, {"size": [3, 2], "counts": b"2120"}:
        assert sluice.pack_instances([square, None, runs]) == expected
        assert sluice.pack_instances([[np.reshape(square, (4, 2))], [], runs]) == expected
    # By pycocotools.mask.encode().
    coded = {"size": [60, 60], "counts": "W=_1[2bNSb0c5n`1"}
    runs = {"size": [60, 60], "counts": [423, 47, 75, 1, 654, 180, 2220]}
    assert sluice.pack_instances([coded]) == sluice.pack_instances([runs])


@pytest.mark.parametrize(("given", "reason"), [
    ({"size": [2, 2], "counts": [1, 2]}, "add up to 3"),
    ({"size": [2, 2], "counts": [1.5, 2.5]}, "not whole numbers"),
    ({"size": [2, 2], "counts": [5, -1]}, "not whole numbers"),
    ({"counts": [4]}, "RLE has no 'size'"),
    ([[1, 2, 3, 4]], "at least three corners"),
    ([[1, 2, 3, 4, 5, 6, 7]], "at least three corners"),
    ([1, 2, 3, 4, 5, 6], "at least three corners"),
    ([[1, 2, 3, 4, 5, float("nan")]], "not finite"),
    (7, "not iterable"),
    # By pycocotools.mask.encode(), cut after each digit that another one follows; and other texts.
    ({"size": [60, 60], "counts": "W=_1[2bNSb0c5n"}, "end within a number"),
    ({"size": [60, 60], "counts": "W=_1[2bNSb0c5n`"}, "end within a number"),
    ({"size": [60, 60], "counts": "W=_1[2bN Sb0"}, "not COCO's compressed RLE"),
    ({"size": [60, 60], "counts": "pqrs"}, "not COCO's compressed RLE"),
    ({"size": [60, 60], "counts": "oooooooooo1"}, "not COCO's compressed RLE"),
])
def test_shapes_that_are_none_are_refused_with_the_objects_number(given, reason):
    with pytest.raises(ValueError, match=f"object 1: .*{reason}"):
        sluice.pack_instances([None, given])


def test_a_writer_compares_instances_with_the_picture_and_the_boxes(tmp_path):
    with sluice.Writer(tmp_path / "data", FIELDS, image="raw") as writer:
        def add(objects, height=HEIGHT):
            writer.add("k", image=np.zeros((height, WIDTH, 3), np.uint8), boxes=BOXES, instances=objects)

        with pytest.raises(sluice.Error, match="2 objects for the 3 boxes"):
            add([None, None])
        with pytest.raises(sluice.Error, match="runs of an object do not cover"):
            add(sluice.pack_instances([None, None, MASKS[0]]), HEIGHT + 1)
        turned = Image.new("RGB", (HEIGHT, WIDTH))
        turned.getexif()[0x0112] = 6
        with pytest.raises(ValueError, match="Exif turns its picture .*field 'instances' belongs"):
            writer.add("k", image=turned, instances=[one["segmentation"] for one in OBJECTS])
        with pytest.raises(ValueError, match="sample 'k': field 'instances': object 2: an outline"):
            add([None, None, [[1, 2, 3, 4]]])
        other_size = f"object 1: its RLE has {WIDTH} x {HEIGHT} pixels .height x width., and the picture {HEIGHT} x {WIDTH}"
        with pytest.raises(ValueError, match=other_size):
            add([None, {"size": [WIDTH, HEIGHT], "counts": [WIDTH * HEIGHT]}, None])
        swapped = np.zeros((WIDTH, HEIGHT), bool)
        with pytest.raises(ValueError, match="object 0: its mask has"):
            add([swapped, None, None])
        with pytest.raises(ValueError, match="object 0: its mask has"):
            writer.add("k", image=Image.new("RGB", (WIDTH, HEIGHT)), boxes=BOXES, instances=[swapped, None, None])
        with pytest.raises(ValueError, match="object 0: its mask has"):
            sluice.pack_instances([swapped], (HEIGHT, WIDTH))
        assert sluice.pack_instances([swapped.T], [HEIGHT, WIDTH]) == sluice.pack_instances([swapped.T])
        add([None, None, MASKS[0]])
    with pytest.raises(sluice.Error, match="no variable field of boxes follows its image"):
        sluice.Writer(tmp_path / "other", [FIELDS[0], FIELDS[2]])


def exported(dataset, folder):
    done = subprocess.run([os.environ["SLUICE_COMMAND"], "export", str(dataset), str(folder), "--coco"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "instances.json").read_text())


def converted(root, file, images, dataset, **options):
    source = sluice.ConvertSource.annotated("coco", file, images)
    source.label_files.parts = sluice.AnnotationParts(masks=False, instances=True)
    sluice.convert(source, root / dataset, max_side=None, **options)
    return root / dataset


def test_an_export_gives_cocos_segmentations_back(tmp_path):
    (tmp_path / "images").mkdir()
    random = np.random.default_rng(4)
    images, annotations = [], []
    for i in range(5):
        Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(tmp_path / f"images/{i}.png")
        images.append({"id": 30 - i, "file_name": f"{i}.png", "width": WIDTH, "height": HEIGHT})
        for k in range(4):
            mask = random.random((HEIGHT, WIDTH)) < 0.3
            flat = mask.T.ravel().astype(int)
            edges = np.flatnonzero(np.diff(np.concatenate([[0], flat]))).tolist()
            runs = np.diff([0, *edges, flat.size]).tolist()
            outlines = [[round(float(at), 2) for at in random.uniform(0, 48, 2 * n)] for n in random.integers(3, 9, 1 + k)]
            annotations.append({
                "id": 4 * i + k + 1, "image_id": 30 - i, "category_id": 5, "bbox": [1, 2, 30, 40], "iscrowd": int(k == 3),
                "area": round(float(random.uniform(1, 900)), 3),
                "segmentation": {"size": [HEIGHT, WIDTH], "counts": runs} if k == 3 else outlines})
        annotations.append({"id": 100 + i, "image_id": 30 - i, "category_id": 5, "bbox": [1, 2, 4, 4], "iscrowd": 0,
                            "area": 16})
    (tmp_path / "coco.json").write_text(json.dumps(
        {"images": images, "annotations": annotations, "categories": [{"id": 5, "name": "thing"}]}))
    first = converted(tmp_path, tmp_path / "coco.json", tmp_path / "images", "first", image="raw")
    found = exported(first, tmp_path / "out")

    def known(one):
        return one["image_id"], one["bbox"], one["iscrowd"], one.get("segmentation"), one["area"]

    # Equal numbers: two decimals of up to 48 are told apart by a float32.
    assert sorted(map(known, found["annotations"]), key=str) == sorted(map(known, annotations), key=str)
    second = converted(tmp_path, tmp_path / "out/instances.json", tmp_path / "out/images", "second", image="raw")
    values = [{sample["image_id"]: sample["instances"] for sample in sluice.Dataset(folder)} for folder in (first, second)]
    assert len(values[0]) == 5 and values[0] == values[1]


def test_an_export_of_shrunken_pictures_has_outlines_and_areas_of_that_size(tmp_path):
    (tmp_path / "images").mkdir()
    Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(tmp_path / "images/0.png")
    annotations = [{"id": k, "image_id": 1, "category_id": 1, "area": 999, **one} for k, one in enumerate(OBJECTS)]
    (tmp_path / "coco.json").write_text(json.dumps({
        "images": [{"id": 1, "file_name": "0.png", "width": WIDTH, "height": HEIGHT}], "annotations": annotations,
        "categories": [{"id": 1, "name": "thing"}]}))
    source = sluice.ConvertSource.annotated("coco", tmp_path / "coco.json", tmp_path / "images")
    source.label_files.parts = sluice.AnnotationParts(instances=True)
    sluice.convert(source, tmp_path / "data", max_side=32, image="raw")
    found = exported(tmp_path / "data", tmp_path / "out")["annotations"]
    assert [one["segmentation"] for one in found[:2]] == [
        (np.array(one["segmentation"]) / 2).tolist() for one in OBJECTS[:2]]
    assert [one["area"] for one in found[:2]] == [10 * 6, 4 * 10 + 2 * 10]
    crowd = found[2]["segmentation"]
    assert crowd["size"] == [24, 32] and sum(crowd["counts"]) == 24 * 32
    assert found[2]["area"] == sum(crowd["counts"][1::2])


@pytest.mark.parametrize("steps", [[], [sluice.HorizontalFlip(1)], [sluice.Mosaic(40)]], ids=["none", "flip", "mosaic"])
def test_boxes_without_instances_keep_objects_in_step(tmp_path, steps):
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels"),
              sluice.Field.bytes("instances", "instances", "image")]
    with sluice.Writer(str(tmp_path / "data"), fields, image="raw") as writer:
        for number in range(16):
            mask = np.zeros((40, 40), bool)
            mask[5:25, 5:20] = True
            some = {"instances": [None, mask]} if number % 2 else {}
            writer.add(f"{number}", image=np.full((40, 40, 3), number, "uint8"),
                       boxes=np.array([[30, 30, 39, 39], [5, 5, 20, 25]], "float32"), **some)
    pytest.importorskip("torch")
    shown = 0
    order = sluice.OrderOptions(lanes=8, shuffle="random")
    for batch in sluice.Loader(str(tmp_path / "data"), 8, transform=steps, order=order,
                               output=sluice.OutputOptions(boxes=sluice.BoxRule(0, 0))):
        for target in batch.targets("torchvision"):
            boxes, masks = target["boxes"].numpy(), target["masks"].numpy()
            assert len(boxes) == len(masks)
            for box, mask in zip(boxes, masks, strict=True):
                if mask.any():  # an object fills its box
                    left, top, right, bottom = box.round().astype(int)
                    assert mask[top:bottom, left:right].all() and mask.sum() == (bottom - top) * (right - left)
                    shown += 1
    assert shown >= 8


@pytest.mark.parametrize(("given", "words"), [
    (np.ones((4, 6), "uint8"), "must be of bool"), (np.ones((4, 6)), "must be of bool"),
    ([[True] * 6] * 4, "must be of bool"), ([1, 1, 5, 1, 5, 5], "list of outlines"), ([[10**400] * 6], "object 0")])
def test_shapes_of_another_form_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        sluice.pack_instances([given])


def test_a_damaged_value_is_refused():
    for words in [[1, 400, 3, 3072], [9, 4], [1, 8, 5, 1]]:
        with pytest.raises(ValueError, match="not one of instances|has no runs"):
            sluice.instance_masks(np.array(words, "<u4").tobytes(), 48, 64)
    with pytest.raises(TypeError):
        sluice.instance_masks(b"", 48, 64, ratio=1.5)
