"""Instances: a row's value as masks or runs, instance_masks(), and a value of outlines, runs and masks, pack_instances()."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy

from sluice._sluice import _available_memory  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMS = ("masks", "bits", "index", "runs")


def _mask(counts: NDArray) -> NDArray:
    """Pixels outside and inside in turns, as one line of bool."""
    return numpy.repeat(numpy.arange(len(counts)) % 2 == 1, counts)


def _counts(mask: NDArray) -> NDArray:
    """The other way round: how many pixels lie outside, then inside, and so on."""
    edges = numpy.flatnonzero(mask[1:] != mask[:-1]) + 1
    return numpy.diff(numpy.concatenate([[0][:int(mask[0])], [0], edges, [len(mask)]]).astype("int64"))


def _objects(value: bytes, height: int, width: int) -> list[NDArray]:
    """For each object, the lengths of its runs down the columns: pixels outside and inside in turns."""
    words = numpy.frombuffer(value, "<u4")
    if len(words) == 0:
        return []
    count = int(words[0])
    found, at = [], 1 + count
    for end in words[1:1 + count]:
        shapes = []
        stop = 1 + count + int(end) // 4
        while at < stop:
            runs = words[at + 1:at + 1 + (int(words[at]) >> 1)].astype("int64")
            if not words[at] & 1 or runs.sum() != height * width:
                raise ValueError(f"the value has no runs of an image of {height} x {width} pixels (height x width)")
            shapes.append(runs)
            at += 1 + len(runs)
        if len(shapes) > 1:  # a stored value; a row's has one shape for each object
            shapes = [_counts(numpy.logical_or.reduce([_mask(runs) for runs in shapes]))]
        found.append(shapes[0] if shapes else numpy.array([height * width]))
    return found


def _require_memory(count: int, shape: tuple[int, int], line_bytes: int) -> None:
    needed, left = count * shape[0] * line_bytes, _available_memory()
    if needed > left:
        raise MemoryError(
            f"{count} masks of {shape[0]} x {shape[1]} pixels (height x width) take {needed / 1e6:.0f} MB, and "
            f"{left / 1e6:.0f} MB of memory are left; ask for the form 'bits' (an eighth), 'index' (one mask for all) or "
            f"'runs', for a ratio, or for fewer objects in a row: output=sluice.OutputOptions(boxes=sluice.BoxRule(most=...))")


def _picking(height: int, width: int, ratio: int, shape: tuple[int, int]) -> Callable[[NDArray], NDArray]:
    """A function from an object's runs to its mask at 1/ratio of the size: the pixels that hold the mask's centres. Where
    a centre lies outside of the image, the mask is not set."""
    lines, columns = (((numpy.arange(side) + 0.5) * ratio).astype("int64") for side in shape)
    lines, columns = lines[lines < height], columns[columns < width]
    outside = [(0, shape[0] - len(lines)), (0, shape[1] - len(columns))]

    def pick(runs: NDArray) -> NDArray:
        mask = _mask(runs).reshape(width, height)
        return mask.T if ratio == 1 else numpy.pad(mask[numpy.ix_(columns, lines)].T, outside)

    return pick


def _index(found: list[NDArray], pick: Callable[[NDArray], NDArray], shape: tuple[int, int]) -> NDArray:
    index = numpy.zeros(shape, "int32")
    sizes = [int(runs[1::2].sum()) for runs in found]
    for number in sorted(range(len(found)), key=lambda i: -sizes[i]):  # equal ones stay in order
        index[pick(found[number])] = number + 1
    return index


def padded_index(value: bytes, own: tuple[int, int], padded: tuple[int, int], ratio: int) -> NDArray:
    """The index mask of a padded image, at 1/ratio of its size; `own` is the size without the padding."""
    shape = (padded[0] // ratio, padded[1] // ratio)
    return _index(_objects(value, *own), _picking(*own, ratio, shape), shape)


@overload
def instance_masks(
    value: bytes, height: int, width: int, form: Literal["masks", "bits", "index"] = "masks", ratio: int = 1
) -> NDArray: ...
@overload
def instance_masks(
    value: bytes, height: int, width: int, form: Literal["runs"], ratio: int = 1
) -> list[dict[str, list[int]]]: ...
def instance_masks(value: bytes, height: int, width: int, form: str = "masks", ratio: int = 1) -> Any:
    """The objects of a row as masks or runs, from its value in the batch's field of instances.

    value: bytes(batch["instances"][row]); height, width: of the row's image, in pixels. ratio: the masks have 1/ratio of
    that size, rounded down, and each of their pixels is the image's pixel that holds its centre. The result by form:
    "masks", n x H x W of bool; "bits", n x H x W/8 of uint8 (rounded up), eight pixels in a byte, the first in its highest
    bit; "index", H x W of int32, where 0 is no object and i + 1 object i: of objects that overlap, the one with fewer
    pixels is seen, and of equal ones the later; "runs", a list of COCO's uncompressed RLE, {"size": [H, W], "counts":
    [...]}, which pycocotools.mask.frPyObjects(runs, H, W) takes. Objects are in the order of the boxes. ValueError:
    another form, a ratio that leaves no pixel, and a value that is not of this size. MemoryError: the masks do not fit.
    """
    if form not in FORMS:
        raise ValueError(f"masks are of the form {', '.join(FORMS)}, not {form!r}")
    ratio = operator.index(ratio)
    if not 1 <= ratio <= min(height, width):
        raise ValueError(f"ratio is {ratio}, and the image has {height} x {width} pixels (height x width)")
    try:
        found = _objects(value, height, width)
    except IndexError:
        raise ValueError("the value is not one of instances: it ends before its last object does") from None
    shape = (height // ratio, width // ratio)
    pick = _picking(height, width, ratio, shape)
    if form == "runs":
        if ratio > 1:
            found = [_counts(pick(runs).ravel("F")) for runs in found]
        return [{"size": list(shape), "counts": runs.tolist()} for runs in found]
    if form == "index":
        return _index(found, pick, shape)
    bits = form == "bits"
    line_bytes = (shape[1] + 7) // 8 if bits else shape[1]
    _require_memory(len(found), shape, line_bytes)
    masks = numpy.zeros((len(found), shape[0], line_bytes), "uint8" if bits else bool)
    for number, runs in enumerate(found):
        masks[number] = numpy.packbits(pick(runs), axis=-1) if bits else pick(runs)
    return masks


def _run_lengths(counts: str | bytes) -> list[int]:
    """The run lengths of COCO's compressed RLE."""
    runs: list[int] = []
    number = shift = 0
    for byte in counts.encode() if isinstance(counts, str) else counts:
        if not 48 <= byte < 112 or shift > 30:
            raise ValueError("its counts are damaged: they are not COCO's compressed RLE")
        number |= (byte - 48 & 31) << shift
        shift += 5
        if byte - 48 & 32:
            continue
        if byte - 48 & 16:  # the highest bit of the last digit is the sign
            number -= 1 << shift
        # From the fourth run on, a number is the difference to the run two places before.
        runs.append(number + runs[-2] if len(runs) > 2 else number)
        number = shift = 0
    if shift > 0:
        raise ValueError("its counts are damaged: they end within a number")
    return runs


def _require_size(what: str, own: tuple[int, ...], size: tuple[int, int] | None) -> None:
    if size is not None and own != size:
        raise ValueError(f"{what} has {own[0]} x {own[1]} pixels (height x width), and the picture {size[0]} x {size[1]}")


def _runs(segmentation: dict[str, Any], size: tuple[int, int] | None) -> NDArray:
    counts = segmentation["counts"]
    runs = numpy.asarray(_run_lengths(counts) if isinstance(counts, (str, bytes)) else counts)
    if runs.ndim != 1 or runs.dtype.kind not in "iu" or len(runs) == 0 or runs.min() < 0 or runs.max() > 0xFFFFFFFF:
        raise ValueError("its counts are not whole numbers from 0 on")
    height, width = segmentation["size"]
    if int(runs.sum()) != height * width:
        raise ValueError(f"its counts add up to {int(runs.sum())}, and its size has {height} x {width} pixels (height x "
                         "width)")
    _require_size("its RLE", (height, width), size)
    return runs


def _shapes(given: Any, size: tuple[int, int] | None) -> list[tuple[int, NDArray]]:
    """An object's shapes, each as the lowest bit of its head and its numbers."""
    if given is None:
        return []
    if isinstance(given, dict):
        return [(1, _runs(given, size).astype("<u4"))]
    wrong_mask = "a mask must be of bool: give mask > 0 (outlines are a list of arrays or lists)"
    if getattr(given, "ndim", 0) == 2:  # also a tensor of torch
        if "bool" not in str(given.dtype):
            raise ValueError(wrong_mask)
        _require_size("its mask", tuple(given.shape), size)
        pixels = numpy.asarray(given).T.ravel()
        edges = numpy.flatnonzero(pixels[1:] != pixels[:-1]) + 1
        runs = numpy.diff(numpy.concatenate([[0], edges, [len(pixels)]]))
        return [(1, numpy.concatenate([[0] * bool(pixels[:1].any()), runs]).astype("<u4"))]
    shapes = []
    for outline in given:
        corners = numpy.asarray(outline)
        if corners.dtype == bool:
            raise ValueError(wrong_mask)
        corners = corners.astype("float64")
        if corners.ndim == 2 and corners.shape[1] == 2:  # (x, y) of each corner
            corners = corners.ravel()
        if corners.ndim != 1 or len(corners) < 6 or len(corners) % 2:
            raise ValueError("an outline has x and y of at least three corners, and an object is a list of outlines: "
                             "[[x, y, x, y, x, y, ...], ...]")
        corners = corners.astype("<f4")
        if not numpy.isfinite(corners).all():
            raise ValueError("an outline has a number that is not finite")
        shapes.append((0, corners))
    return shapes


def pack_instances(objects: Iterable[Any], size: tuple[int, int] | None = None) -> bytes:
    """The value of a field of role instances, such as a Writer stores, from the shapes of each box's object.

    objects: for each box, in the boxes' order, one of these: a mask of bool (height x width) of the picture's size;
    COCO's segmentation, which is a list of outlines [[x, y, x, y, ...], ...] in pixels of the picture or RLE, {"size":
    [height, width], "counts": ...} with a list, or a text or bytes of pycocotools; or None, an object without a shape.
    size: the picture's height and width, which masks and RLE must have. Without it, they must only have as many pixels
    as the picture, which is checked when the sample is stored (a value holds no sizes), as is the number of objects. A
    Writer that is given the objects themselves takes the size of a picture that is not a JPEG file.
    ValueError, with the object's number: a shape of another form or size, numbers that are not finite.
    """
    if size is not None:
        height, width = size
        size = (height, width)  # also of a list
    ends: list[int] = []
    parts: list[bytes] = []
    end = 0
    for number, given in enumerate(objects):
        try:
            for runs, numbers in _shapes(given, size):
                parts += numpy.array([len(numbers) << 1 | runs], "<u4").tobytes(), numbers.tobytes()
                end += 4 + 4 * len(numbers)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            reason = f"its RLE has no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"object {number}: {reason}") from None
        ends.append(end)
    return numpy.array([len(ends), *ends], "<u4").tobytes() + b"".join(parts)
