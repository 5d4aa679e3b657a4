"""Fields of a dataset from arrays, without touching its pictures: Dataset.add_column() and its siblings."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Sequence

from sluice._sluice import Dataset, Field, _drop_fields, _write_column

if TYPE_CHECKING:
    from collections.abc import Iterable


def _field(name: str, array: Any, role: str, classes: Sequence[str]) -> Field:
    if classes:
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"field {name!r}: labels are whole numbers, one for each sample, not {array.dtype}")
        return Field.label(name, list(classes))
    return Field.array(name, array.dtype.name, array.shape[1:], role)


def write(
    dataset: Dataset, name: str, array: Any, samples: Iterable[int] | None, missing: float | None, role: str,
    classes: Sequence[str], note: str, replace: bool
) -> Dataset:
    """The result of Dataset.add_column() and Dataset.replace_column()."""
    import numpy

    array = numpy.asarray(array)
    if array.ndim == 0:
        raise TypeError(f"field {name!r}: give an array with a row for each sample")
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise TypeError(
            f"field {name!r}: a column holds whole numbers or floats, not {array.dtype}; write other values with a "
            "sluice.Writer, and add them by `sluice column add --from`")
    old = {field.name: field for field in dataset.fields}.get(name)
    if replace and not classes and old is not None and old.classes:
        classes = old.classes
    if array.dtype.name in ("uint32", "uint64"):
        if array.size and int(array.max()) > numpy.iinfo("int64").max:
            raise ValueError(f"field {name!r}: {array.max()} does not fit int64")
        array = array.astype("int64")
    field = _field(name, array, role if not replace or role != "none" or old is None else old.role, classes)
    if field.dtype != array.dtype.name:
        narrow = array.astype(field.dtype)
        if not (narrow == array).all():
            raise ValueError(f"field {name!r}: a label does not fit {field.dtype}")
        array = narrow
    array = numpy.ascontiguousarray(array)
    numbers = None if samples is None else numpy.fromiter(map(operator.index, samples), "int64")
    if numbers is not None and (numbers < 0).any():
        raise ValueError(f"field {name!r}: sample numbers begin at 0")
    _write_column(dataset.path, field, list(classes), array, None if numbers is None else numbers.tolist(), missing,
                  note, replace)
    return Dataset(dataset.path)


def drop(dataset: Dataset, names: Sequence[str], note: str) -> Dataset:
    """The result of Dataset.drop_fields()."""
    _drop_fields(dataset.path, [names] if isinstance(names, str) else list(names), note)
    return Dataset(dataset.path)
