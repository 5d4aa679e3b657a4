"""The instances of a row as masks: instance_masks()."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMS = ("masks", "bits", "index")


def _objects(value: bytes, height: int, width: int) -> list[tuple[NDArray, NDArray]]:
    """For each object, where its pixels begin and end, counted down the columns."""
    words = numpy.frombuffer(value, "<u4")
    if len(words) == 0:
        return []
    count = int(words[0])
    found, at = [], 1 + count
    for end in words[1:1 + count]:
        begins: list[NDArray] = []
        ends: list[NDArray] = []
        stop = 1 + count + int(end) // 4
        while at < stop:
            runs = words[at + 1:at + 1 + (int(words[at]) >> 1)].astype("int64")
            if not words[at] & 1 or runs.sum() != height * width:
                raise ValueError(f"the value has no runs of an image of {height} x {width} pixels (height x width)")
            edges = numpy.cumsum(runs)
            begins.append(edges[0::2][:len(edges) // 2])
            ends.append(edges[1::2])
            at += 1 + len(runs)
        found.append((numpy.concatenate(begins or [numpy.zeros(0, "int64")]),
                      numpy.concatenate(ends or [numpy.zeros(0, "int64")])))
    return found


def instance_masks(value: bytes, height: int, width: int, form: str = "masks", ratio: int = 1) -> NDArray:
    """The objects of a row as masks, from its value in the batch's field of instances.

    value: bytes(batch["instances"][row]); height, width: of the row's image, in pixels. ratio: the masks have 1/ratio of
    that size, rounded down, and each of their pixels is the image's pixel that holds its centre. The result by form:
    "masks", n x H x W of bool; "bits", n x H x W/8 of uint8 (rounded up), eight pixels in a byte, the first in its highest
    bit; "index", H x W of int32, where 0 is no object and i + 1 object i: of objects that overlap, the one with fewer
    pixels is seen, and of equal ones the later. Objects are in the order of the boxes. ValueError: another form, a ratio
    that leaves no pixel, and a value that is not of this size.
    """
    if form not in FORMS:
        raise ValueError(f"masks are of the form {', '.join(FORMS)}, not {form!r}")
    if not 1 <= ratio <= min(height, width):
        raise ValueError(f"ratio is {ratio}, and the image has {height} x {width} pixels (height x width)")
    lines = numpy.minimum((numpy.arange(height // ratio) + 0.5) * ratio, height - 1).astype("int64")
    columns = numpy.minimum((numpy.arange(width // ratio) + 0.5) * ratio, width - 1).astype("int64")
    found = _objects(value, height, width)
    shape = (len(lines), len(columns))
    masks = numpy.zeros((len(found), *shape), bool) if form != "index" else numpy.zeros(0, bool)
    index = numpy.zeros(shape, "int32")
    sizes = [int((ends - begins).sum()) for begins, ends in found]
    for number in sorted(range(len(found)), key=lambda i: -sizes[i]):  # equal ones stay in order
        begins, ends = found[number]
        edges = numpy.zeros(height * width + 1, "int32")
        numpy.add.at(edges, begins, 1)
        numpy.add.at(edges, ends, -1)
        mask = (numpy.cumsum(edges[:-1], dtype="int32") > 0).reshape(width, height)[numpy.ix_(columns, lines)].T
        if form == "index":
            index[mask] = number + 1
        else:
            masks[number] = mask
    if form == "index":
        return index
    return numpy.packbits(masks, axis=-1) if form == "bits" else masks
