"""Instances: the outlines and runs of objects follow their picture. Outlines are rectangles of whole pixels, which each
way of filling fills alike, so that numpy gives the expected pixels."""

import json
import struct

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
    with pytest.raises(ValueError, match="not 'runs'"):
        sluice.instance_masks(value, height, width, "runs")


def test_targets_have_masks(dataset):
    torch = pytest.importorskip("torch")
    for batch in sluice.Loader(dataset, batch_size=4, transform=[sluice.CenterCrop(32)]):
        for target in batch.targets("torchvision"):
            assert torch.equal(target["masks"].bool(), torch.from_numpy(MASKS[:2, 8:40, 16:48]))
        assert torch.equal(batch.targets("transformers")[0]["mask_labels"], batch.targets("torchvision")[0]["masks"])
        index = batch.targets("ultralytics")["masks"]
        assert index.shape == (4, 8, 8) and set(index.unique().tolist()) == {0, 1, 2}
