"""Boxes, classes and key points of a batch in the forms that detectors take: Batch.targets()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import torch

from sluice._instances import instance_masks, pack_instances, padded_index

if TYPE_CHECKING:
    from sluice._sluice import Batch, Field

FORMS = ("torchvision", "ultralytics", "transformers")


class _Fields:
    """The names of the batch's fields that have a part in targets; None for one that it lacks."""

    def __init__(self, fields: dict[str, Field]) -> None:
        followed = [field for field in fields.values() if field.role == "boxes" and field.kind == "variable"]
        if not followed:
            raise ValueError("the batch has no boxes of any number; targets need a field of the role boxes")
        self.image = followed[0].follows
        if self.image not in fields:
            raise ValueError(f"the boxes {followed[0].name!r} follow no image of the batch")
        self.boxes = followed[0]
        of_boxes = [f for f in fields.values() if f.kind == "variable" and f.follows == self.image]
        self.crowd = next((f.name for f in of_boxes if f.name == "crowd"), None)
        # Single points, of shape [2] or [3], belong to no box.
        self.points = next((f for f in of_boxes if f.role == "keypoints" and len(f.shape) > 1), None)
        labels = [f.name for f in of_boxes if f.role == "label"] or [
            f.name for f in of_boxes if f.role == "none" and "int" in f.dtype and not f.shape and f.name != "crowd"]
        if len(labels) > 1:
            raise ValueError(f"the fields {', '.join(labels)} may all be the boxes' classes; choose by output.fields")
        self.classes = labels[0] if labels else None  # without: one class
        self.instances = next(
            (f.name for f in fields.values() if f.role == "instances" and f.follows == self.image), None)
        self.ids = "image_id" if "image_id" in fields else None
        self.source_size = "source_size" if "source_size" in fields else None


def _angled(corners: numpy.ndarray, size: tuple[int, int]) -> numpy.ndarray:
    """Of oriented boxes (n x 8, pixels): centre, longer and shorter side in shares of the image, angle of the longer.

    A box that a resize or a shear has made oblique becomes the smallest rectangle around its corners.
    """
    points = corners.astype("float64").reshape(-1, 4, 2)
    side = numpy.roll(points, -1, 1) - points
    angles = numpy.arctan2(side[..., 1], side[..., 0])  # n x 4: a smallest rectangle lies along one of the sides
    cosine, sine = numpy.cos(angles)[..., None], numpy.sin(angles)[..., None]
    x, y = points[:, None, :, 0], points[:, None, :, 1]
    along, across = x * cosine + y * sine, y * cosine - x * sine  # n x 4 x 4
    low = numpy.stack([along.min(-1), across.min(-1)], -1)
    high = numpy.stack([along.max(-1), across.max(-1)], -1)
    best = ((high - low).prod(-1)).argmin(1)
    rows = numpy.arange(len(points))
    low, high, angle = low[rows, best], high[rows, best], angles[rows, best]
    middle = (low + high) / 2
    centre = numpy.stack([middle[:, 0] * numpy.cos(angle) - middle[:, 1] * numpy.sin(angle),
                          middle[:, 0] * numpy.sin(angle) + middle[:, 1] * numpy.cos(angle)], 1)
    lengths = high - low
    angle = numpy.where(lengths[:, 0] >= lengths[:, 1], angle, angle + numpy.pi / 2)
    # A rounding error must not turn 0 into half a turn.
    angle = (numpy.round(angle, 9) + numpy.pi / 4) % numpy.pi - numpy.pi / 4
    box = [centre[:, 0] / size[1], centre[:, 1] / size[0], lengths.max(1) / size[1], lengths.min(1) / size[0], angle]
    return numpy.stack(box, 1).astype("float32")


def _corners(boxes: numpy.ndarray, coordinates: str, size: tuple[int, int]) -> numpy.ndarray:
    """Corners in pixels, as float32: left, top, right, bottom."""
    form, _, unit = (coordinates or "xyxy-pixels").partition("-")
    box = boxes.astype("float64").reshape(-1, 4)
    if unit == "relative":
        box = box * (size[1], size[0], size[1], size[0])
    if form == "cxcywh":
        box = numpy.hstack([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2])
    elif form == "xywh":
        box = numpy.hstack([box[:, :2], box[:, :2] + box[:, 2:]])
    return box.astype("float32")


def _centres(corners: numpy.ndarray, size: tuple[int, int]) -> numpy.ndarray:
    """(centre x, centre y, width, height) in shares of the image, as float32."""
    middle = (corners[:, :2] + corners[:, 2:]) / 2
    box = numpy.hstack([middle, corners[:, 2:] - corners[:, :2]])
    return (box / (size[1], size[0], size[1], size[0])).astype("float32")


class _Row:
    """What a row has, in pixels of its image."""

    def __init__(
        self, batch: Batch, fields: _Fields, row: int, size: tuple[int, int], padded: tuple[int, int]
    ) -> None:
        self.size = padded  # of the tensor, in which the row's image is at the upper left
        self.own = size
        form, _, unit = fields.boxes.coordinates.partition("-")
        self.oriented = form == "corners"
        if self.oriented:
            scale = numpy.array([size[1], size[0]] * 4, "float32") if unit == "relative" else 1
            self.corners = batch[fields.boxes.name][row].astype("float32").reshape(-1, 8) * scale
        else:
            self.corners = _corners(batch[fields.boxes.name][row], fields.boxes.coordinates, size)
        count = len(self.corners)
        self.instances = None
        if fields.instances is not None:
            value = batch[fields.instances][row]
            self.instances = pack_instances([None] * count) if value is None else bytes(value)

        def entries(name: str | None, what: str) -> numpy.ndarray:
            found = numpy.zeros(count, "int64") if name is None else batch[name][row].astype("int64")
            if len(found) != count:
                raise ValueError(f"sample {batch.samples[row]} has {count} boxes and {len(found)} {what}")
            return found

        self.classes = entries(fields.classes, "classes")
        # A dataset of a mixture that has no flags has none for its boxes.
        marked = fields.crowd is not None and len(batch[fields.crowd][row]) > 0
        self.crowd = entries(fields.crowd if marked else None, "crowd flags")
        self.area = (self.corners[:, 2] - self.corners[:, 0]) * (self.corners[:, 3] - self.corners[:, 1])
        self.boxes = (_angled if self.oriented else _centres)(self.corners, padded)
        self.points = None
        if fields.points is not None:
            points = batch[fields.points.name][row].astype("float32")
            shape = (*fields.points.shape[:-1], 2) if len(fields.points.shape) > 1 else (1, 2)
            if fields.points.coordinates.endswith("relative"):
                points = points * numpy.array([size[1], size[0], 1], "float32")[: points.shape[-1]]
            if points.shape[-1] == 2:  # all are visible
                points = numpy.concatenate([points, numpy.full((*points.shape[:-1], 1), 2, "float32")], -1)
            self.points = points.reshape(count, shape[0], 3)

    def masks(self) -> numpy.ndarray:
        """The instances' masks, of the tensor's size."""
        assert self.instances is not None
        of_image = instance_masks(self.instances, *self.own)
        return numpy.pad(of_image, [(0, 0), *((0, self.size[i] - self.own[i]) for i in range(2))])

    def index_mask(self) -> numpy.ndarray:
        """One mask of all instances, at a quarter of the tensor's size."""
        assert self.instances is not None
        return padded_index(self.instances, self.own, self.size, 4)


def make(
    batch: Batch,
    form: str,
    first_label: int | None,
    fields: dict[str, Field],
    image_sizes: dict[str, list[tuple[tuple[int, int], tuple[int, int]]]],
) -> Any:
    """Batch.targets(): its text is there.

    fields: of the batch, by name; image_sizes: of each image field, by row, (height, width) of the row's own image
    and of its tensor, which may be padded.
    """
    if form not in FORMS:
        raise ValueError(f"targets are of the form {', '.join(FORMS)}, not {form!r}")
    names = _Fields(fields)
    first = (1 if form == "torchvision" else 0) if first_label is None else first_label
    rows = [_Row(batch, names, row, *sizes) for row, sizes in enumerate(image_sizes[names.image])]
    ids = batch.samples if names.ids is None else batch[names.ids].numpy()

    def tensor(array: numpy.ndarray) -> torch.Tensor:
        return torch.from_numpy(numpy.ascontiguousarray(array))

    if form == "ultralytics":
        joined = {
            "batch_idx": numpy.repeat(numpy.arange(len(rows), dtype="float32"), [len(row.corners) for row in rows]),
            "cls": numpy.concatenate([row.classes for row in rows]).astype("float32").reshape(-1, 1) + first,
            "bboxes": numpy.concatenate([row.boxes for row in rows]),
        }
        if names.points is not None:
            scales = [numpy.array([row.size[1], row.size[0], 1], "float32") for row in rows]
            joined["keypoints"] = numpy.concatenate(
                [row.points / scale for row, scale in zip(rows, scales, strict=True)])
        if names.instances is not None:
            if len({row.size for row in rows}) > 1:
                raise ValueError("index masks are one array for all rows, whose images differ in size here; set "
                                 "image_sizes='padded', or leave instances out of OutputOptions(fields=...)")
            joined["masks"] = numpy.stack([row.index_mask() for row in rows])
        return {name: tensor(array) for name, array in joined.items()}

    if names.boxes.coordinates.startswith("corners"):
        raise ValueError(f"the boxes {names.boxes.name!r} are oriented, which only the form 'ultralytics' knows")
    targets = []
    for number, row in enumerate(rows):
        target = {"area": tensor(row.area), "iscrowd": tensor(row.crowd)}
        if row.points is not None:
            target["keypoints"] = tensor(row.points)
        if row.instances is not None:
            target["masks" if form == "torchvision" else "mask_labels"] = tensor(row.masks().view("uint8"))
        if form == "torchvision":
            target["boxes"] = tensor(row.corners)
            target["labels"] = tensor(row.classes + first)
            target["image_id"] = torch.tensor(int(ids[number]))
        else:
            target["boxes"] = tensor(row.boxes)
            target["class_labels"] = tensor(row.classes + first)
            target["image_id"] = torch.tensor([int(ids[number])])
            target["size"] = target["orig_size"] = torch.tensor(row.size)
            if names.source_size is not None:
                target["orig_size"] = tensor(batch[names.source_size].numpy()[number].astype("int64"))
        targets.append(target)
    return targets
