"""A writer for samples from Python."""

from __future__ import annotations

import collections
import concurrent.futures
import os
from collections.abc import Iterable, Mapping
from typing import Any

from sluice._sluice import Field, _DatasetWriter, _SampleBuilder  # type: ignore[attr-defined]

Path = str | os.PathLike[str]


class Writer:
    """Writes a dataset of samples from Python.

        fields = [sluice.Field.image(), sluice.Field.label("label", ["cat", "dog"])]
        with sluice.Writer("data/pets", fields) as writer:
            writer.add("cats/1", image=pixels, label=0)

    An image is given as pixels (a numpy array of uint8 or uint16, height x width [x channels]), as an
    image of Pillow, or as the bytes of a JPEG file, which are stored as they are. `image` says how pixels
    are stored: "jpeg" (with `quality`), "packed" or "raw". Masks, and pixels of uint16, are stored raw
    and compressed. Other fields are given as numbers, arrays, str or bytes; None is an absent value.

    Leaving the `with` block finishes the dataset, unless an exception does; a folder without a manifest
    is left then. One thread at a time may use a Writer; add_all() uses several.
    """

    def __init__(
        self,
        dataset: Path,
        fields: Iterable[Field],
        *,
        name: str = "",
        image: str = "jpeg",
        quality: int = 90,
        shard_bytes: int = 64_000_000,
        block_samples: int = 0,
    ) -> None:
        if image not in ("jpeg", "packed", "raw"):
            raise ValueError(f'image is "jpeg", "packed" or "raw", not {image!r}')
        fields = list(fields)
        if not all(isinstance(field, Field) for field in fields):
            raise TypeError("fields are sluice.Field values, such as Field.image() and Field.label()")
        self._writer = _DatasetWriter(dataset, fields, name, shard_bytes, block_samples)
        self._fields = {field.name: field for field in fields}
        self._image = image
        self._quality = quality

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if raised is None:
            self.finish()

    def __len__(self) -> int:
        return len(self._writer)

    def add(self, key: str, values: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Stores a sample: add("key", image=..., label=...) or add("key", {"image": ...})."""
        self._writer.add(self._encoded(key, {**(values or {}), **fields}))

    def add_all(
        self, samples: Iterable[tuple[str, Mapping[str, Any]]], threads: int | None = None
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
                        self._writer.add(waiting.popleft().result())
                while waiting:
                    self._writer.add(waiting.popleft().result())
            finally:
                for one in waiting:
                    one.cancel()

    def finish(self) -> None:
        """Writes what is pending, then the manifest. No call may follow."""
        self._writer.finish()

    def _encoded(self, key: str, values: Mapping[str, Any]) -> _SampleBuilder:
        sample = self._writer.new_sample(os.fsencode(key))
        for name, value in values.items():
            if value is None:
                continue
            field = self._fields.get(name)
            if field is None:
                raise KeyError(f"the schema has no field {name!r}; it has {', '.join(self._fields)}")
            if field.kind == "image":
                self._set_image(sample, field, value)
            elif field.kind == "bytes":
                sample.set_bytes(name, value.encode() if isinstance(value, str) else bytes(value), False)
            else:
                self._set_array(sample, field, value)
        return sample

    def _set_image(self, sample: _SampleBuilder, field: Field, value: Any) -> None:
        if isinstance(value, (bytes, bytearray, memoryview)):
            sample.set_jpeg(field.name, bytes(value), self._image == "packed")
            return
        import numpy

        if hasattr(value, "getbands") and value.mode not in ("RGB", "L", "I;16"):
            # Palettes of masks are class numbers; other pictures become what a JPEG holds.
            keep = field.role == "mask" and value.mode in ("P", "1")
            value = value if keep else value.convert("L" if value.mode in ("1", "LA", "I", "F") else "RGB")
        pixels = numpy.ascontiguousarray(value)
        if pixels.dtype == bool:
            pixels = pixels.astype(numpy.uint8)
        lossless = self._image == "raw" or field.role == "mask" or pixels.dtype != numpy.uint8
        if lossless:
            sample.set_pixels(field.name, pixels, self._image != "raw")
        else:
            sample.set_encoded(field.name, pixels, self._quality, self._image == "packed")

    def _set_array(self, sample: _SampleBuilder, field: Field, value: Any) -> None:
        import numpy

        values = numpy.asarray(value)
        converted = values.astype(field.dtype, order="C")
        # Real numbers are rounded to the field's precision; everything else must fit exactly.
        rounded = values.dtype.kind == converted.dtype.kind == "f"
        if not rounded and not numpy.array_equal(values, converted):
            raise ValueError(f"field {field.name!r} holds {field.dtype}, which {value!r} does not fit")
        sample.set_array(field.name, converted, field)
