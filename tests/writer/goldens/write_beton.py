#!/usr/bin/env python3
"""Writes the .beton file in this folder. It needs FFCV 1.0.2: bench/peers/setup.sh makes an environment with it.
If i is even, sample i is a raw picture of 4x3 pixels with red 16 i + x, green y, blue 7. If i is odd, it is a JPEG
of one colour. FFCV's writer fills pages of 2 MiB. To keep the file small, this script cuts out the zeros before the
first page and the empty rest of the last page, and moves the bytes after them."""
import pathlib
import struct
import sys

import numpy as np
import torch
from ffcv.fields import (BytesField, FloatField, IntField, JSONField, NDArrayField, RGBImageField,
                         TorchTensorField)
from ffcv.writer import DatasetWriter

here = pathlib.Path(__file__).parent
count = 5


class Samples:
    def __len__(self):
        return count

    def __getitem__(self, i):
        if i % 2 == 1:  # larger than the threshold, so a JPEG
            picture = np.full((16, 24, 3), 40 * i, np.uint8)
        else:
            y, x = np.mgrid[0:3, 0:4]
            picture = np.stack([16 * i + x, y, np.full_like(x, 7)], -1).astype(np.uint8)
        return (picture, i % 3, i / 8, np.arange(6, dtype=np.int16).reshape(2, 3) + i,
                {"name": f"sample {i}"}, np.frombuffer(bytes(range(i)), np.uint8),
                torch.full((2,), i + 0.5), 10 ** 12 + i, np.array([i, i], np.uint32))


path = here / "small.beton"
DatasetWriter(str(path), {
    "image": RGBImageField(write_mode="smart", smart_threshold=1000),
    "label": IntField(), "weight": FloatField(), "matrix": NDArrayField(np.dtype("<i2"), (2, 3)),
    "about": JSONField(), "raw": BytesField(), "tensor": TorchTensorField(torch.float32, (2,)),
    "serial": IntField(), "wide": NDArrayField(np.dtype("<u4"), (2,)),
}, page_size=1 << 21, num_workers=1).from_indexed_dataset(Samples())

content = bytearray(path.read_bytes())
table = struct.unpack_from("<Q", content, 16)[0]
end = max(p + s for _, p, s in struct.iter_unpack("<QQQ", content[table:]))
struct.pack_into("<Q", content, 16, end)
# The first page begins at 2 MiB, after zeros. Moves the payloads to `begin`, where the samples' entries end.
fields = struct.unpack_from("<H", content, 2)[0]
row = 96  # bytes of a sample's entry
begin = 24 + fields * 1041 + count * row
move = (1 << 21) - begin
del content[table:]
allocations = [(i, p - move, s) for i, p, s in struct.iter_unpack("<QQQ", path.read_bytes()[table:])]
rows = begin - count * row
for i in range(count):
    at = rows + i * row
    for place in [at + 5, at + 32, at + 40, at + 56, at + 72, at + 88]:
        struct.pack_into("<Q", content, place, struct.unpack_from("<Q", content, place)[0] - move)
small = content[:begin] + content[1 << 21:end]
struct.pack_into("<Q", small, 16, end - move)
path.write_bytes(small + b"".join(struct.pack("<QQQ", *a) for a in allocations))
sys.exit(0)
