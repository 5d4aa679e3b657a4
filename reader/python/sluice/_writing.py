"""A writer for samples from Python."""

from __future__ import annotations

import collections
import concurrent.futures
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from sluice._sluice import Field, ImageCodec, _DatasetWriter, _SampleBuilder  # type: ignore[attr-defined]

Path = str | os.PathLike[str]

_ORIENTATION = 0x0112  # Exif's tag


def _upright(image: Any) -> Any:
    """An image of Pillow turned as its Exif orientation says."""
    if image.getexif().get(_ORIENTATION, 1) == 1:
        return image
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _packed(key: str | bytes, field: Field, objects: Any, picture: Any) -> bytes:
    """The value of a field of instances, whose objects are compared with the size of their picture."""
    from sluice._instances import pack_instances

    size = None  # that of a JPEG's bytes is not known here
    if hasattr(picture, "getexif"):  # an image of Pillow, which is stored upright
        size = picture.size[::-1] if picture.getexif().get(_ORIENTATION, 1) < 5 else picture.size
    elif len(getattr(picture, "shape", ())) >= 2:
        size = (int(picture.shape[0]), int(picture.shape[1]))
    try:
        return pack_instances(objects, size)
    except ValueError as error:
        raise ValueError(f"sample {key!r}: field {field.name!r}: {error}") from None


def _without_loss(field: Field, image: Any) -> Any:
    """An image of Pillow converted to grey or RGB. Raises ValueError if that would lose something."""
    if image.mode in ("I", "F"):
        raise ValueError(
            f"field {field.name!r} is given an image of mode {image.mode!r}, whose values a picture cannot hold: "
            "give an array of float32 or of another type that keeps them: numpy.asarray(image, dtype)"
        )
    transparent = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
    if transparent and image.convert("RGBA").getchannel("A").getextrema() != (255, 255):
        raise ValueError(
            f"field {field.name!r} is given an image with transparency: paste it on a background, or drop it "
            "by image.convert('RGB')"
        )
    return image.convert("L" if image.mode == "1" else "RGB")


# The types of pixels that fields may have.
_PIXELS = ("uint8", "uint16", "int16", "float16", "float32")


def _exactly(field: Field, pixels: Any) -> Any:
    """Pixels of another type, such as int32 or float64, in one that fields may have, if every value fits exactly.

    The new type depends on theirs alone, since all images of a field have one type. Whole numbers in a mask are classes.
    """
    import numpy

    if pixels.dtype.kind in "iuf":
        classes = field.role == "mask" and pixels.dtype.kind in "iu"
        name = "uint16" if classes else "int16" if pixels.dtype.itemsize == 1 else "float32"
        with numpy.errstate(all="ignore"):
            converted = pixels.astype(name)
            if numpy.array_equal(converted.astype(pixels.dtype), pixels, equal_nan=pixels.dtype.kind == "f"):
                return converted
        raise ValueError(
            f"field {field.name!r} is given pixels of {pixels.dtype}, which become {name}, and it cannot hold all of "
            "them exactly: round or scale them, or convert them by astype() to uint8, uint16, int16, float16 or float32"
        )
    raise ValueError(
        f"field {field.name!r} is given pixels of {pixels.dtype}, which uint8, uint16, int16, float16 and float32 cannot "
        "hold exactly: convert them by astype()"
    )


class Writer:
    """Writes a dataset of samples from Python.

        fields = [sluice.Field.image(), sluice.Field.label("label", ["cat", "dog"])]
        with sluice.Writer("data/pets", fields) as writer:
            writer.add("cats/1", image=pixels, label=0)

    An image is given as pixels (a numpy array of uint8, uint16, int16, float16 or float32, height x width
    [x channels], with up to 64 channels), as an image of Pillow, or as the bytes of a JPEG file, which are
    stored as they are. An image of Pillow and a JPEG file that Exif turns are stored upright, as
    sluice.convert stores them. Their boxes, masks and key points are not turned: `upright=True` says that
    they were drawn on the upright picture, as most tools show it. Without `upright=True`, a picture that
    Exif turns is refused if it has boxes, masks or key points. `image` says how pixels are stored: "jpeg"
    (with `quality`), "packed" or "raw". Masks, pixels of other types than uint8, and more than four
    channels are stored without loss. All images of a field have one type; signed bytes become int16, and
    other types float32 (whole numbers in a mask: uint16), if every value fits exactly. A field of role
    instances is given as a list with the shapes of each box's object, or packed by pack_instances(). Other
    fields are given as numbers, arrays, str or bytes; None is an absent value. `meta` is what the dataset says about
    itself, such as {"license": "CC-BY-4.0"}: see Dataset.meta.

    The end of the `with` block finishes the dataset. If an exception ends the block, the folder is left
    without a manifest; another Writer of that folder removes what is there, and begins again. Several threads
    may call add(); add_all() starts threads, and keeps the order.
    """

    # A misspelt attribute, and an option that is set after the Writer was made, are errors.
    __slots__ = ("_open", "_adding", "_fields", "_image", "_quality", "_upright", "__weakref__")

    def __init__(
        self,
        dataset: Path,
        fields: Iterable[Field],
        *,
        name: str = "",
        image: ImageCodec | Literal["jpeg", "packed", "raw"] = "jpeg",
        quality: int = 90,
        shard_bytes: int = 64_000_000,
        block_samples: int = 0,
        upright: bool = False,
        meta: Mapping[str, str] | None = None,
    ) -> None:
        form = image.name.lower() if isinstance(image, ImageCodec) else image
        if form not in ("jpeg", "packed", "raw"):
            raise ValueError(f'image is "jpeg", "packed" or "raw", not {image!r}')
        if quality not in range(1, 101):
            raise ValueError(f"quality is a whole number from 1 to 100, not {quality!r}")
        fields = list(fields)
        if not all(isinstance(field, Field) for field in fields):
            raise TypeError("fields are sluice.Field values, such as Field.image() and Field.label()")
        self._open: _DatasetWriter | None = _DatasetWriter(
            dataset, fields, name, shard_bytes, block_samples, upright, dict(meta or {})
        )
        self._adding = threading.Lock()
        self._fields = {field.name: field for field in fields}
        self._image = form
        self._quality = quality
        self._upright = upright

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if raised is None:
            self.finish()
        else:
            self._open = None  # lets go of the folder, so that another Writer may begin again

    @property
    def _writer(self) -> _DatasetWriter:
        if self._open is None:
            raise ValueError("an exception ended this Writer's with block: create a new Writer")
        return self._open

    def __len__(self) -> int:
        with self._adding:
            return len(self._writer)

    def add(self, key: str | bytes, values: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Stores a sample: add("key", image=..., label=...) or add("key", {"image": ...}).

        A picture that Exif turns is stored upright; its boxes, masks and key points must be those of the upright
        picture already, and the Writer must have been made with upright=True.
        """
        self._store(self._encoded(key, {**(values or {}), **fields}))

    def _store(self, sample: _SampleBuilder) -> None:
        with self._adding:
            self._writer.add(sample)

    def add_all(
        self, samples: Iterable[tuple[str | bytes, Mapping[str, Any]]], threads: int | None = None
    ) -> None:
        """Stores the samples of an iterable of (key, {field: value}), in its order.

        The iterable is advanced in this thread; `threads` others encode (None: one for each CPU).
        """
        threads = threads or len(os.sched_getaffinity(0))
        waiting: collections.deque[concurrent.futures.Future[_SampleBuilder]] = collections.deque()
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            try:
                for key, values in samples:
                    waiting.append(pool.submit(self._encoded, key, values))
                    if len(waiting) > 4 * threads:
                        self._store(waiting.popleft().result())
                while waiting:
                    self._store(waiting.popleft().result())
            finally:
                for one in waiting:
                    one.cancel()

    def finish(self) -> None:
        """Writes what is pending, then the manifest. After this, the Writer may not be used."""
        with self._adding:
            self._writer.finish()

    def _encoded(self, key: str | bytes, values: Mapping[str, Any]) -> _SampleBuilder:
        if not isinstance(key, (str, bytes)):
            raise TypeError(f"a sample's key is a str or bytes, not {key!r}")
        sample = self._writer.new_sample(os.fsencode(key))
        for name, value in values.items():
            if value is None:
                continue
            field = self._fields.get(name)
            if field is None:
                raise KeyError(f"the schema has no field {name!r}; it has {', '.join(self._fields)}")
            if field.kind == "image":
                if hasattr(value, "getexif"):  # an image of Pillow
                    self._require_upright(key, field, value, values)
                self._set_image(sample, field, value)
            elif field.kind == "bytes":
                if field.role == "instances" and isinstance(value, (list, tuple)):
                    value = _packed(key, field, value, values.get(field.follows))
                sample.set_bytes(name, self._bytes(field, value), False)
            else:
                self._set_array(sample, field, value)
        return sample

    def _require_upright(self, key: str | bytes, field: Field, image: Any, values: Mapping[str, Any]) -> None:
        """Refuses an image of Pillow that is turned upright and has boxes or the like, as C++ refuses such a JPEG."""
        if self._upright or image.getexif().get(_ORIENTATION, 1) == 1:
            return
        import numpy

        for other in self._fields.values():
            value = values.get(other.name) if other.follows == field.name else None
            if value is not None and (other.kind == "bytes" or numpy.size(value)):
                raise ValueError(
                    f"sample {key!r}: Exif turns its picture in field {field.name!r} upright; field {other.name!r} "
                    "belongs to this picture. If it was drawn on the upright picture, set sluice.Writer(upright=True). "
                    "If it was drawn on the picture as the file stores it, give the picture as numpy.asarray(image)"
                )

    def _bytes(self, field: Field, value: Any) -> bytes:
        if isinstance(value, str):
            # The builder refuses half of a surrogate pair in a text, by field and sample.
            return value.encode(errors="surrogatepass" if field.role in ("text", "json") else "strict")
        try:
            return bytes(memoryview(value))  # bytes(5) would be five zeros
        except TypeError:
            raise TypeError(f"field {field.name!r} takes str or bytes, not {value!r}") from None

    def _set_image(self, sample: _SampleBuilder, field: Field, value: Any) -> None:
        if isinstance(value, (bytes, bytearray, memoryview)):
            sample.set_jpeg(field.name, bytes(value), self._image == "packed")
            return
        import numpy

        if hasattr(value, "getbands"):  # an image of Pillow
            value = _upright(value)
            # A mask's palette indices are class numbers, and stay; other pictures become grey or RGB.
            classes = field.role == "mask" and value.mode in ("P", "1")
            if not classes and value.mode not in ("RGB", "L", "I;16"):
                value = _without_loss(field, value)
        pixels = numpy.ascontiguousarray(value)
        if pixels.dtype.kind in "OSU":
            raise TypeError(
                f"field {field.name!r} takes an image of Pillow, the bytes of a JPEG file, or an array of numbers of "
                f"height x width [x channels], not {value!r}"
            )
        pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
        # Fewer lines than channels are rather an array with its channels first, unless the channels have names.
        first = pixels.ndim == 3 and 4 < pixels.shape[2] > pixels.shape[0] and "channels" not in field.attributes
        if pixels.ndim not in (2, 3) or first or pixels.ndim == 3 and pixels.shape[2] > 64:
            cure = ""
            if pixels.ndim == 3 and pixels.shape[0] <= 64:
                cure = " (channels first: use pixels.transpose(1, 2, 0))"
            if first and pixels.shape[2] <= 64:
                cure += " (channels last: give them names, by sluice.Field.image(channels=[...]))"
            raise ValueError(
                f"field {field.name!r} takes height x width [x channels], with at most 64 channels, not an array of shape "
                f"{pixels.shape}{cure}"
            )
        if pixels.dtype == bool:
            if field.role != "mask":
                raise TypeError(
                    f"field {field.name!r} is given truth values, which would become pixels of 0 and 1: give "
                    "pixels * numpy.uint8(255) for black and white, or make it a mask by sluice.Field.mask()"
                )
            pixels = pixels.astype(numpy.uint8)
        if pixels.dtype.name not in _PIXELS:
            pixels = _exactly(field, pixels)
        wide = pixels.dtype != numpy.uint8 or pixels.ndim == 3 and pixels.shape[2] > 4
        lossless = self._image == "raw" or field.role == "mask" or wide
        if lossless:
            sample.set_pixels(field.name, pixels, self._image != "raw")
        else:
            sample.set_encoded(field.name, pixels, self._quality, self._image == "packed")

    def _set_array(self, sample: _SampleBuilder, field: Field, value: Any) -> None:
        import numpy

        values = numpy.asarray(value)
        try:
            converted = values.astype(field.dtype, order="C")
        except (TypeError, ValueError):
            number = " (a class is given by its number)" if field.classes else ""
            raise ValueError(f"field {field.name!r} holds {field.dtype}, not {value!r}{number}") from None
        # Real numbers are rounded to the field's precision; everything else must fit exactly.
        rounded = values.dtype.kind == converted.dtype.kind == "f"
        if not rounded and not numpy.array_equal(values, converted):
            raise ValueError(f"field {field.name!r} holds {field.dtype}, which {value!r} does not fit")
        sample.set_array(field.name, converted, field)
