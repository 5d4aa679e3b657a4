""".beton files that FFCV writes, with JPEGs or raw pixels: images, numbers, arrays, JSON, bytes equal its loader's."""

import importers

importers.need("ffcv", "PIL")

import io
import json

import numpy
from ffcv.fields import BytesField, FloatField, IntField, JSONField, NDArrayField, RGBImageField
from ffcv.fields.decoders import BytesDecoder, FloatDecoder, IntDecoder, NDArrayDecoder, SimpleRGBImageDecoder
from ffcv.libffcv import imdecode
from ffcv.loader import Loader, OrderOption
from ffcv.writer import DatasetWriter
from PIL import Image

SIZE = (96, 64)
NUMPY = numpy.dtype("<i2")


class Samples:
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        picture = numpy.asarray(Image.open(path).convert("RGB").resize(SIZE))
        return (picture, label, i / 8, numpy.arange(6, dtype=NUMPY).reshape(2, 3) - i, {"name": f"a “name” {i}"},
                numpy.frombuffer(bytes(range(1 + i % 255)), numpy.uint8))  # FFCV cannot read an empty array


def decoded(content):
    """Decodes a JPEG by FFCV's own decoder, and any other image by Pillow."""
    if not content.startswith(b"\xff\xd8"):
        return numpy.asarray(Image.open(io.BytesIO(content)))
    width, height = SIZE
    pixels = numpy.zeros((height, width, 3), numpy.uint8)
    imdecode(numpy.frombuffer(content, numpy.uint8), pixels, height, width, height, width, 0, 0, 1, 1, False, False)
    return pixels


def check_file(place, samples, mode, options):
    file = place.folder / f"{mode}.beton"
    DatasetWriter(str(file), {
        "image": RGBImageField(write_mode=mode, smart_threshold=SIZE[0] * SIZE[1] * 3 - 1, jpeg_quality=90,
                               compress_probability=0.5),
        "label": IntField(), "weight": FloatField(), "matrix": NDArrayField(NUMPY, (2, 3)), "about": JSONField(),
        "raw": BytesField(),
    }, num_workers=2).from_indexed_dataset(samples)
    loader = Loader(str(file), batch_size=len(samples), num_workers=1, order=OrderOption.SEQUENTIAL, pipelines={
        "image": [SimpleRGBImageDecoder()], "label": [IntDecoder()], "weight": [FloatDecoder()],
        "matrix": [NDArrayDecoder()], "about": [BytesDecoder()], "raw": [BytesDecoder()]})
    [(images, labels, weights, matrices, about, raw)] = [[numpy.array(part) for part in batch] for batch in loader]
    unpacked = JSONField.unpack(about)
    rows = place.convert([file], *options, name=mode)
    importers.check("samples", len(rows), len(samples))
    for i, row in enumerate(rows):
        pixels = decoded(row["image"])
        importers.check(f"{mode} image {i}", pixels.shape, images[i].shape)
        importers.check(f"{mode} image {i}", (pixels == images[i]).all(), True)
        importers.check(f"label {i}", row["label"], place.classes[labels[i][0]])
        importers.check(f"weight {i}", json.loads(row["weight"]), [weights[i][0]])
        importers.check(f"matrix {i}", json.loads(row["matrix"]), matrices[i].tolist())
        importers.check(f"JSON {i}", json.loads(row["about"]), unpacked[i])
        importers.check(f"bytes {i}", place.content(mode, row["raw"]), bytes(raw[i])[:1 + i % 255])


with importers.Workplace() as place:
    names = place.folder / "names.txt"
    names.write_text("\n".join(place.classes) + "\n")
    samples = Samples(place.files)
    check_file(place, samples, "jpg", ["--classes", names, "--quality", "keep", "--no-resize"])
    check_file(place, samples, "raw", ["--classes", names, "--image", "raw", "--no-resize"])
