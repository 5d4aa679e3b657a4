"""CopyPaste, and instances in MixUp and CutMix: numpy, by reader/TRANSFORMS.md and reader/DRAWS.md alone.

Each test plays the same rows twice: with steps before the mixing step alone, and with it. The first are mixed here, in
numpy, and compared with the second: pixels, runs, boxes, classes, points, masks.
"""

import sys
from pathlib import Path

import numpy
import pytest

import sluice

from test_instances import decoded

sys.path.append(str(Path(__file__).parents[1] / "reader"))
import draws_by_document as document  # noqa: E402

COUNT, BATCH, SEED = 48, 6, 5
SIDE = 64
ORDER = sluice.OrderOptions(lanes=8)


def value_of(masks):
    """A value of instances, of runs, by FORMAT.md."""
    bodies = []
    for mask in masks:
        flat = numpy.concatenate([[0], mask.T.ravel().astype(int), [0]])
        edges = numpy.flatnonzero(numpy.diff(flat))
        runs = numpy.diff(numpy.concatenate([[0], edges, [mask.size]])).astype("<u4")
        bodies.append(numpy.uint32(len(runs) << 1 | 1).tobytes() + runs.tobytes())
    ends = numpy.cumsum([len(body) for body in bodies], dtype="<u4")
    return numpy.uint32(len(masks)).tobytes() + ends.tobytes() + b"".join(bodies)


def objects(number):
    """Masks of 0 to 5 objects: rectangles, ellipses with a hole, scattered pixels; some without a pixel. Boxes are
    around them, and half a pixel wider."""
    random = numpy.random.default_rng(number)
    y, x = numpy.mgrid[:SIDE, :SIDE]
    masks, boxes = [], []
    for kind in range(number % 6):
        left, top = random.integers(0, SIDE - 20, 2)
        width, height = random.integers(3, 20 if number % 4 else 60, 2)
        mask = (x >= left) & (x < left + width) & (y >= top) & (y < top + height)
        if kind % 3 == 1:
            far = ((x + 0.5 - left - width / 2) / width) ** 2 + ((y + 0.5 - top - height / 2) / height) ** 2
            mask &= (far < 0.25) & (far > 0.05)
        elif kind % 3 == 2:
            mask &= random.random((SIDE, SIDE)) < 0.7
        if number == 11:
            mask[:] = False
        masks.append(mask)
        boxes.append([left - 0.5, top - 0.5, min(left + width, SIDE) + 0.5, min(top + height, SIDE) + 0.5])
    return numpy.array(masks).reshape(-1, SIDE, SIDE), numpy.array(boxes, "float32").reshape(-1, 4)


def write(path, coordinates="xyxy-pixels", **options):
    fields = [
        sluice.Field.image(),
        sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", coordinates),
        sluice.Field.variable("classes", "int32", (), "none", "image"),
        sluice.Field.variable("points", "float32", (2, 3), "keypoints", "image"),
        sluice.Field.bytes("instances", role="instances", follows="image"),
        sluice.Field.mask("mask", "image"),
    ]
    with sluice.Writer(path, fields, image="raw", **options) as writer:
        for number in range(COUNT):
            masks, boxes = objects(number)
            x, y = numpy.meshgrid(numpy.arange(SIDE), numpy.arange(SIDE))
            middles = (boxes[:, :2] + boxes[:, 2:]) / 2
            points = numpy.stack([numpy.insert(boxes[:, :2] + 1, 2, 2, 1), numpy.insert(middles, 2, 1, 1)], 1)
            if coordinates == "cxcywh-relative":
                boxes = numpy.hstack([middles, boxes[:, 2:] - boxes[:, :2]]) / SIDE
            writer.add(str(number), {
                "image": numpy.stack([x * 0 + 5 * number, 4 * x, 4 * y], 2).astype("uint8"),
                "boxes": boxes.astype("float32"), "classes": numpy.arange(len(masks), dtype="int32") + 100 * number,
                "points": points.astype("float32"), "instances": value_of(masks),
                "mask": (masks.any(0) * (number + 1) if len(masks) else x * 0).astype("uint8")})
    return path


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    return write(tmp_path_factory.mktemp("paste") / "dataset")


class Row:
    def __init__(self, batch, row, position):
        self.sample, self.position = int(batch.samples[row]), position
        image = batch["image"].numpy()
        self.image = image[row].copy() if image.shape[-1] == 3 else image[row].transpose(1, 2, 0).copy()
        height, width = self.image.shape[:2]
        self.masks = decoded(bytes(batch["instances"][row]), width, height).astype(bool)
        self.boxes, self.classes = batch["boxes"][row].copy(), batch["classes"][row].copy()
        self.points = batch["points"][row].copy()
        self.mask = batch["mask"].numpy()[row].squeeze().copy() if "mask" in batch else numpy.zeros((height, width))

    def __eq__(self, other):
        return all(numpy.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self))


def played(path, transform, epoch=0, loader=None, **options):
    """The rows of each batch."""
    output = options.pop("output", sluice.OutputOptions(boxes=sluice.BoxRule(0, 0), flip_pairs="0-1"))
    loader = loader or sluice.Loader(path, BATCH, seed=SEED, transform=transform, order=ORDER, output=output, **options)
    return [[Row(batch, row, batch.index * BATCH + row) for row in range(len(batch))] for batch in loader.epoch(epoch)]


def around(mask):
    y, x = numpy.nonzero(mask)
    return [x.min(), y.min(), x.max() + 1, y.max() + 1]


def pasted(own, partner, chosen):
    """`own` with these objects of the partner."""
    chosen = [i for i in chosen if partner.masks[i].any()]
    if not chosen:
        return own
    under = partner.masks[chosen].any(0)
    own.image[under], own.mask[under] = partner.image[under], partner.mask[under]
    left = own.masks & ~under
    kept = left.any((1, 2)) | ~own.masks.any((1, 2))
    for i in numpy.flatnonzero(kept & (left != own.masks).any((1, 2))):
        own.boxes[i] = around(left[i])
    for point in own.points.reshape(-1, 3):
        x, y = numpy.floor(point[:2]).astype(int)
        if 0 <= x < under.shape[1] and 0 <= y < under.shape[0] and under[y, x]:
            point[2] = 0
    own.masks = numpy.concatenate([left[kept], partner.masks[chosen]])
    for name in "boxes", "classes", "points":
        setattr(own, name, numpy.concatenate([getattr(own, name)[kept], getattr(partner, name)[chosen]]))
    return own


def mirrored(row):
    from copy import deepcopy
    other, width = deepcopy(row), row.image.shape[1]
    other.image, other.mask, other.masks = row.image[:, ::-1], row.mask[:, ::-1], row.masks[:, :, ::-1]
    other.boxes[:, [0, 2]] = numpy.clip(width - row.boxes[:, [2, 0]], 0, width)
    other.boxes[:, [1, 3]] = numpy.clip(row.boxes[:, [1, 3]], 0, row.image.shape[0])
    seen = other.points[..., 2] > 0
    other.points[..., 0] = numpy.where(seen, width - other.points[..., 0], other.points[..., 0])
    other.points = other.points[:, ::-1].copy()
    return other


def fitting(own, other, p):
    low = numpy.maximum(other.boxes[:, None, :2], own.boxes[None, :, :2])
    high = numpy.minimum(other.boxes[:, None, 2:], own.boxes[None, :, 2:])
    sizes = own.boxes[:, 2:].astype("float64") - own.boxes[:, :2]
    hidden = (numpy.maximum(0, high.astype("float64") - low).prod(2) / (sizes.prod(1) + 1e-7)).max(1, initial=0)
    found = [i for i in numpy.argsort(hidden, kind="stable") if hidden[i] < 0.3]
    return found[:round(p * len(found))]


def expected(rows, epoch, p, flip):
    from copy import deepcopy
    seed, result = document.draw_seed(SEED, epoch), []
    for number, row in enumerate(rows):
        partner = mirrored(row) if flip else rows[number - 1]
        if flip:
            chosen = fitting(row, partner, p) if len(row.boxes) else []
        else:
            chosen = document.copy_paste(seed, row.position, len(partner.boxes), p) or []
        result.append(pasted(deepcopy(row), partner, chosen) if flip or len(rows) > 1 else row)
    return result


def same(found, wanted):
    assert len(found.masks) == len(found.boxes) == len(found.classes) == len(found.points)
    for name in "image", "mask", "masks", "classes":
        assert numpy.array_equal(getattr(found, name), getattr(wanted, name)), name
    numpy.testing.assert_allclose(found.boxes, wanted.boxes, atol=1e-4)
    numpy.testing.assert_allclose(found.points, wanted.points, atol=1e-4)


BEFORE = {
    "nothing": [],
    "crop": [sluice.RandomCrop(40), sluice.HorizontalFlip()],
    "scale": [sluice.RandomResizedCrop(48), sluice.VerticalFlip()],
    "mosaic": [sluice.Mosaic(48), sluice.RandomCrop(70)],
    "border": [sluice.RandomCrop(72, padding=8)],
}


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("before", BEFORE)
def test_objects_are_pasted_as_in_numpy(crowd, before, flip):
    changed = 0
    for p in 0, 0.5, 1:
        for epoch in range(3):
            plain = played(crowd, BEFORE[before], epoch)
            for rows, want in zip(played(crowd, [*BEFORE[before], sluice.CopyPaste(p, flip)], epoch), plain, strict=True):
                for found, wanted, was in zip(rows, expected(want, epoch, p, flip), want, strict=True):
                    same(found, wanted)
                    changed += found != was
                    assert p > 0 or found == was
    assert changed > 20


def test_numbers_of_every_type_and_layout_are_pasted(crowd):
    for layout in "nhwc", "nchw":
        output = sluice.OutputOptions(layout=layout, flip_pairs="none", boxes=sluice.BoxRule(0, 0))
        for kind in "float32", "float16":
            steps = [sluice.CenterCrop(60), sluice.Normalize((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), type=kind)]
            plain = played(crowd, steps, output=output)
            for rows, want in zip(played(crowd, [*steps, sluice.CopyPaste(1)], output=output), plain, strict=True):
                for found, wanted in zip(rows, expected(want, 0, 1, False), strict=True):
                    same(found, wanted)


@pytest.mark.parametrize("flip", [False, True])
def test_relative_boxes_say_the_same(crowd, tmp_path, flip):
    relative = write(tmp_path / "relative", "cxcywh-relative")
    steps = [sluice.RandomCrop(40), sluice.CopyPaste(1, flip)]
    for rows, others in zip(played(crowd, steps), played(relative, steps), strict=True):
        for row, other in zip(rows, others, strict=True):
            centre, size = other.boxes[:, :2] * 40, other.boxes[:, 2:] * 40
            other.boxes = numpy.hstack([centre - size / 2, centre + size / 2])
            same(other, row)


def test_cutmix_cuts_instances_where_it_cuts_pixels(crowd):
    cut = objects_cut = 0
    for epoch in range(12):
        plain = played(crowd, [], epoch)
        for rows, before in zip(played(crowd, [sluice.CutMix(1)], epoch), plain, strict=True):
            for number, (found, own) in enumerate(zip(rows, before, strict=True)):
                partner = before[number - 1]
                y, x = numpy.nonzero(found.image[..., 0] != own.image[..., 0])
                if len(x) == 0:
                    assert found == own
                    continue
                cut += 1
                inside = numpy.zeros((SIDE, SIDE), bool)
                inside[y.min():y.max() + 1, x.min():x.max() + 1] = True
                edges = numpy.array(around(inside))
                seen = numpy.minimum(partner.boxes[:, 2:], edges[2:]) - numpy.maximum(partner.boxes[:, :2], edges[:2])
                share = numpy.maximum(0, seen).prod(1) / (partner.boxes[:, 2:] - partner.boxes[:, :2]).prod(1)
                kept = partner.masks[share >= 0.1] & inside
                assert len(found.masks) == len(found.boxes) == len(found.classes)
                assert numpy.array_equal(found.masks, numpy.concatenate([own.masks & ~inside, kept]))
                objects_cut += (kept != partner.masks[share >= 0.1]).any((1, 2)).sum()
    assert cut > 50 and objects_cut > 10


def test_mixup_joins_instances_in_the_order_of_boxes(crowd):
    mixed = 0
    for steps in [], BEFORE["mosaic"]:
        for rows, before in zip(played(crowd, [*steps, sluice.MixUp(32, 0.5)],
                                       output=sluice.OutputOptions(fields=FIELDS, flip_pairs="none")),
                                played(crowd, steps, output=sluice.OutputOptions(fields=FIELDS, flip_pairs="none")),
                                strict=True):
            for number, (found, own) in enumerate(zip(rows, before, strict=True)):
                partner = before[number - 1]
                both = len(found.boxes) > len(own.boxes)
                mixed += both
                others = [own, partner] if both else [own]
                for name in "masks", "boxes", "classes", "points":
                    assert numpy.array_equal(getattr(found, name), numpy.concatenate([getattr(o, name) for o in others]))
    assert mixed > 20


FIELDS = ["image", "boxes", "classes", "points", "instances"]


@pytest.mark.parametrize("flip", [False, True])
def test_rows_do_not_depend_on_threads_or_a_resume(crowd, flip):
    steps = [sluice.RandomCrop(48), sluice.CopyPaste(0.7, flip), sluice.CutMix(1, 0.5), sluice.MixUp(32, 0.3), sluice.CopyPaste(1, flip)]
    output = sluice.OutputOptions(fields=FIELDS, flip_pairs="none")

    def all_of(loader, epoch=None):
        names = ["image", "boxes", "classes", "points", "instances"]
        return [[bytes(batch[name].numpy()) if name == "image" else [bytes(batch[name][row]) for row in range(len(batch))]
                 for name in names] for batch in (loader if epoch is None else loader.epoch(epoch))]

    def loader(threads=2, **options):
        return sluice.Loader(crowd, BATCH, seed=SEED, transform=steps, order=ORDER, output=output, threads=threads, **options)

    alone = all_of(loader(1), 0)
    assert all_of(loader(2), 0) == alone and all_of(loader(5), 0) == alone
    for stop in 1, 3, 6:
        first = loader()
        batches = iter(first)
        for _ in range(stop):
            next(batches)
        assert all_of(loader(resume_from=first.state())) == alone[stop:]


def test_a_batch_of_one_row_stays_as_it_is_unless_mirrored(crowd):
    def rows(steps):
        loader = sluice.Loader(crowd, 1, seed=SEED, transform=steps, order=ORDER,
                               output=sluice.OutputOptions(flip_pairs="0-1"))
        return [Row(batch, 0, 0) for batch in loader.epoch(0)]

    plain = rows([])
    assert rows([sluice.CopyPaste(1)]) == plain and rows([sluice.CopyPaste(1, True)]) != plain


def test_what_cannot_be_pasted_is_refused_by_name(crowd, tmp_path):
    def refusal(message, transform, fields=(), folder=crowd, **options):
        output = sluice.OutputOptions(fields=list(fields), flip_pairs=options.pop("flip_pairs", ""))
        with pytest.raises(sluice.Error, match=message):
            sluice.Loader(folder, 4, transform=transform, output=output, **options)

    paste = [sluice.CopyPaste()]
    refusal("boxes would paste their background.*--take boxes,instances", paste, ["image", "boxes", "classes"])
    refusal("CopyPaste needs a field of instances", paste, ["image"])
    refusal("CopyPaste.*OneHot's numbers", [sluice.OneHot(9, label="classes"), sluice.CopyPaste()], FIELDS)
    refusal("put .* before them", [sluice.CopyPaste(), sluice.RandomCrop(8)])
    refusal("CopyPaste cannot be used with several views", paste, views=[sluice.View("other", [sluice.Resize(8)])])
    refusal("MixUp cannot mix a mask's numbers", [sluice.MixUp(1)], flip_pairs="none")
    refusal("has 2 key points of an object", [sluice.CopyPaste(1, True)])
    refusal("a probability of 0 to 1", [sluice.CopyPaste(1.5)])
    refusal("lists without Normalize, OneHot, MixUp, CutMix and CopyPaste", [sluice.RandomChoice([paste, []])])
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (8,), "boxes", "image", "corners-pixels"),
              sluice.Field.bytes("instances", "instances", "image")]
    with sluice.Writer(tmp_path / "oriented", fields, image="raw") as writer:
        for number in range(4):
            writer.add(str(number), image=numpy.zeros((SIDE, SIDE, 3), numpy.uint8),
                       boxes=numpy.array([[1, 1, 9, 1, 9, 9, 1, 9]], "float32"), instances=value_of([objects(1)[0][0]]))
    refusal("makes no oriented boxes", paste, folder=tmp_path / "oriented")
    loader = sluice.Loader(tmp_path / "oriented", 4, transform=[sluice.MixUp(32)])
    assert all(len(boxes) == 2 for batch in loader for boxes in batch["boxes"])


@pytest.mark.parametrize("value, message", [
    (value_of([]), "has 0 objects for 1 box"),
    (b"\1\0\0\0", "cannot be mixed: it claims more objects"),
    (numpy.array([1, 12, 4], "<u4").tobytes() + numpy.zeros(2, "<f4").tobytes(), "cannot be mixed: it has an outline"),
    (value_of([numpy.ones((3, 3), bool)]), "do not cover as many pixels"),
])
def test_instances_that_a_function_sets_are_checked(crowd, value, message):
    def spoil(sample):
        if sample.index == 1:
            sample.set_variable("instances", value)

    for step in sluice.MixUp(32), sluice.CutMix(), sluice.CopyPaste():
        loader = sluice.Loader(crowd, 4, transform=[step], sample_function=spoil,
                               output=sluice.OutputOptions(fields=FIELDS, flip_pairs="none"))
        with pytest.raises(sluice.Error, match=f'field "instances" .*{message}'):
            for _ in loader:
                pass


def test_a_row_lists_no_paste(crowd):
    loader = sluice.Loader(crowd, BATCH, transform=[sluice.CopyPaste(1)])
    assert len(loader.row(5, 0)["boxes"][0]) == 5
    assert sluice.CopyPaste() == sluice.CopyPaste(p=0.5, flip=False) and "flip=True" in repr(sluice.CopyPaste(1, True))


def test_a_row_whose_objects_would_take_too_much_memory_stays_as_it_is(tmp_path):
    """Whole pictures that a comb of single pixels cuts into pieces: each piece would be stored for each of them."""
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels"),
              sluice.Field.bytes("instances", "instances", "image")]
    whole = numpy.ones((SIDE, SIDE), bool)
    comb = (numpy.indices(whole.shape).sum(0) % 2).astype(bool)
    with sluice.Writer(tmp_path / "data", fields, image="raw") as writer:
        for number in range(8):
            masks = [whole] * 60 if number % 2 else [comb]
            writer.add(str(number), image=numpy.full((SIDE, SIDE, 3), number, numpy.uint8), instances=value_of(masks),
                       boxes=numpy.array([[0, 0, SIDE, SIDE]] * len(masks), "float32"))
    order = sluice.OrderOptions(shuffle="sequential")
    for batch in sluice.Loader(tmp_path / "data", 4, transform=[sluice.CopyPaste(1)], order=order):
        for row, number in enumerate(batch.samples.tolist()):
            masks, image = decoded(bytes(batch["instances"][row]), SIDE, SIDE), batch["image"].numpy()[row]
            assert len(masks) == len(batch["boxes"][row]) and masks.all() and len(masks) > 20
            assert (image == (number if number % 2 else (number - 1) % 4 + number // 4 * 4)).all()
