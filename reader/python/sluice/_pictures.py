"""Datasets for looking at: pictures of Pillow, contact sheets in notebooks, tables of pandas."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

from sluice._sluice import Dataset, Field, Sample


def picture_of(pixels: Any) -> Any:
    """A PIL image of decoded pixels; needs Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Pillow is needed to show an image (pip install pillow); sample.array(field) gives its pixels"
        ) from error
    if pixels.dtype.name in ("int16", "float16") or pixels.ndim == 3 and (
        pixels.dtype.name != "uint8" or pixels.shape[2] > 4
    ):
        raise TypeError(
            f"Pillow has no images of {pixels.dtype.name} with {pixels.shape[2] if pixels.ndim == 3 else 1} channels; "
            "sample.array(field) gives the pixels"
        )
    if pixels.ndim == 3 and pixels.shape[2] == 2:
        return Image.fromarray(pixels, "LA")
    return Image.fromarray(pixels)


def line_of(dataset: Dataset) -> str:
    """A dataset in a line: its path, size and fields."""
    counted = f"{len(dataset):,} samples" if len(dataset) != 1 else "1 sample"
    fields = ", ".join(f"{field.name} ({field.kind})" for field in dataset.fields)
    return f"Dataset('{dataset.path}': {counted}; {fields})"


def _caption(sample: Sample, field: Field | None) -> str:
    if field is None:
        return ""
    number = sample[field.name]
    if isinstance(number, int) and 0 <= number < len(field.classes):
        return field.classes[number]
    return str(number)


def contact_sheet(dataset: Dataset, count: int = 12, side: int = 128) -> str:
    """HTML with pictures of samples from all over the dataset."""
    images = [field for field in dataset.fields if field.kind == "image"]
    label = next((f for f in dataset.fields if f.role == "label" and f.kind == "array" and not f.shape), None)
    cells = []
    deleted = set(dataset.deleted)
    for at in range(min(count, len(dataset))) if images else ():
        number = at * len(dataset) // min(count, len(dataset))
        if number in deleted:
            continue
        sample = dataset[number]
        picture = sample[images[0].name]
        if picture is None:
            continue
        picture = picture.convert("RGB")
        picture.thumbnail((side, side))
        file = io.BytesIO()
        picture.save(file, "JPEG")
        data = base64.b64encode(file.getvalue()).decode()
        cells.append(
            f'<figure style="display:inline-block;margin:4px;text-align:center">'
            f'<img src="data:image/jpeg;base64,{data}" title="{html.escape(sample.key)}">'
            f"<figcaption>{html.escape(_caption(sample, label))}</figcaption></figure>"
        )
    return f"<p>{html.escape(line_of(dataset))}</p>{''.join(cells)}"


def table_of(dataset: Dataset) -> Any:
    """The result of Dataset.to_pandas()."""
    import pandas

    fields = [field for field in dataset.fields if field.kind == "array" and not field.shape]
    return pandas.DataFrame({field.name: dataset.column(field.name) for field in fields}).drop(dataset.deleted)
