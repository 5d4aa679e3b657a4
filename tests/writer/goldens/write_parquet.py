#!/usr/bin/env python3
"""Writes the Parquet files in this folder. It needs pyarrow. Pictures are PNGs of a formula, so that the tests
know them without a file: sample i is 4x3, with red 16 i + x, green y, blue 7."""
import decimal
import json
import pathlib
import struct
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent


def png(i, width=4, height=3):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in (16 * i + x, y, 7)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


features = {"image": {"_type": "Image"}, "label": {"names": ["zebra", "ant"], "_type": "ClassLabel"},
            "caption": {"dtype": "string", "_type": "Value"},
            "objects": {"bbox": {"feature": {"feature": {"dtype": "float32", "_type": "Value"}, "length": 4,
                                             "_type": "Sequence"}, "_type": "Sequence"},
                        "category": {"feature": {"names": ["cat", "dog"], "_type": "ClassLabel"},
                                     "_type": "Sequence"}}}
count = 6
image = pa.array([{"bytes": png(i), "path": f"{i}.png" if i % 2 == 0 else None} for i in range(count)],
                 pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
boxes = [[[0, 0, 2, 1]] * (i % 3) + [[1, 1, 2, 2]] for i in range(count)]
table = pa.table({
    "image": image,
    "label": pa.array([i % 2 for i in range(count)], pa.int64()),
    "caption": pa.array([None if i == 3 else f"number {i}" for i in range(count)]),
    "objects": pa.array([{"bbox": b, "category": [i % 2] * len(b)} for i, b in enumerate(boxes)],
                        pa.struct([("bbox", pa.list_(pa.list_(pa.float32()))),
                                   ("category", pa.list_(pa.int64()))])),
    "weight": pa.array([i / 4 for i in range(count)], pa.float64()),
    "good": pa.array([i > 2 for i in range(count)], pa.bool_()),
    "tags": pa.array([["a"] * (i % 2) for i in range(count)], pa.list_(pa.string())),
})

for name, options in {
    "plain": {"compression": "none", "use_dictionary": False},
    "dictionary": {"compression": "snappy", "row_group_size": 4},
    "zstd2": {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": ["label", "objects.category"]},
    "snappy": {"compression": "snappy", "use_dictionary": False},
}.items():
    group_rows = options.pop("row_group_size", count)
    with pq.ParquetWriter(here / f"{name}.parquet", table.schema, store_schema=False, **options) as writer:
        writer.write_table(table, row_group_size=group_rows)
        writer.add_key_value_metadata({"huggingface": json.dumps({"info": {"features": features}})})
pq.write_table(pa.table({"jpg": pa.array([png(i) for i in range(2)], pa.binary()), "label": ["b", "a"]}),
               here / "bare.parquet", compression="none", store_schema=False)
pq.write_table(table.select(["image", "label"]), here / "gzip.parquet", compression="gzip", store_schema=False)

# Another split, which has its own class numbers and one more class.
other = {"image": features["image"], "label": {"names": ["ant", "cat", "zebra"], "_type": "ClassLabel"}}
few = table.select(["image", "label"]).slice(0, 3).set_column(1, "label", pa.array([0, 1, 2], pa.int64()))
with pq.ParquetWriter(here / "other.parquet", few.schema, store_schema=False, compression="none") as writer:
    writer.write_table(few)
    writer.add_key_value_metadata({"huggingface": json.dumps({"info": {"features": other}})})

# A list with a null entry, and a missing number.
gaps = pa.table({
    "image": image.slice(0, 3),
    "kinds": pa.array([[1, 0], [1, None], [0]], pa.list_(pa.int64())),
    "score": pa.array([1.5, 2.5, None], pa.float32()),
})
with pq.ParquetWriter(here / "gaps.parquet", gaps.schema, store_schema=False, compression="none") as writer:
    writer.write_table(gaps)

# Files with two columns of images; in the first file, one of them has the usual name, "image".
for name, columns in {"depth": ["depth", "image"], "views": ["left", "right"]}.items():
    pictures = {column: image.slice(c, 1) for c, column in enumerate(columns)}
    pq.write_table(pa.table(pictures), here / f"{name}.parquet", compression="none", store_schema=False)

# Decimals, stored as integers and as bytes.
few = table.select(["image", "label"]).slice(0, 3)
for name, precision in {"price": 9, "total": 38}.items():
    few = few.append_column(name, pa.array([decimal.Decimal(f"{i}.25") for i in range(3)], pa.decimal128(precision, 2)))
pq.write_table(few, here / "decimals.parquet", compression="none", store_schema=False, store_decimal_as_integer=True)

# Unsigned integers. The last row's `large` does not fit a signed integer of 64 bits.
unsigned = pa.table({
    "image": image.slice(0, 3),
    "small": pa.array([7, 2**31, 2**32 - 1], pa.uint32()),
    "large": pa.array([8, 2**63 - 1, 2**63], pa.uint64()),
    "list": pa.array([[1, 2], [2**31, 5], [2**32 - 1, 6]], pa.list_(pa.uint32())),
})
for name, dictionary in {"unsigned": False, "unsigned_dictionary": True}.items():
    pq.write_table(unsigned, here / f"{name}.parquet", compression="none", store_schema=False,
                   use_dictionary=dictionary)

# Floats: whole numbers with gaps, fractions, and numbers that float32 does not hold.
floats = pa.table({
    "image": image.slice(0, 4),
    "label": pa.array([3.0, None, float("nan"), 1.0], pa.float64()),
    "class": pa.array([0.25, 1, 2, 3], pa.float32()),
    "tiny": pa.array([1e-300, 0.1, 1, 2], pa.float64()),
    "large": pa.array([16777217.0, 0.1, 1, 2], pa.float64()),
})
pq.write_table(floats, here / "floats.parquet", compression="none", store_schema=False)
# The same columns, but the label has fractions.
fractions = floats.set_column(1, "label", pa.array([2.5, 1, 0, 3], pa.float64()))
pq.write_table(fractions, here / "fractions.parquet", compression="none", store_schema=False)

# Floats of 16 bits, among them the smallest, the largest and the smallest normal one.
halves = pa.table({
    "image": image.slice(0, 4),
    "label": pa.array(np.array([2, 0, 1, 0], np.float16), pa.float16()),
    "other": pa.array(np.array([-0.5, 2**-24, 65504, 2**-14], np.float16), pa.float16()),
})
for name, dictionary in {"halves": False, "halves_dictionary": True}.items():
    pq.write_table(halves, here / f"{name}.parquet", compression="none", store_schema=False,
                   use_dictionary=dictionary)
