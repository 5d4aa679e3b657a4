"""rasterio (GDAL): windows of GeoTIFFs in tiles of 256, deflate with predictor; each file is opened once by each thread.

The files of the list hold pixels as they are; their names say how many: 00000007-HEIGHTxWIDTHxCHANNELS-TYPE.raw.
"""

import os

# Megabytes of decoded blocks that GDAL keeps. With its usual twentieth of the memory, it would give windows of a small
# data set from memory.
os.environ["GDAL_CACHEMAX"] = "1"

import concurrent.futures
import pathlib
import threading
import warnings

import numpy

try:
    import rasterio
    from rasterio.windows import Window

    warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)
except ImportError:
    rasterio = None

own = threading.local()  # the files that the thread has open


def missing():
    return None if rasterio else "rasterio is not installed in this environment"


def describe():
    return (
        f"rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}: tiles of 256, deflate with predictor, by "
        "band; random windows, files stay open, GDAL_CACHEMAX 1 MB"
    )


def pixels_of(path):
    shape, dtype = pathlib.Path(path).stem.split("-")[1:]
    return numpy.fromfile(path, dtype).reshape([int(side) for side in shape.split("x")])


def pack(items, folder, threads):
    def write(number, path):
        pixels = pixels_of(path).transpose(2, 0, 1)
        channels, height, width = pixels.shape
        predictor = 3 if pixels.dtype.kind == "f" and pixels.dtype.itemsize > 2 else 2
        profile = {
            "driver": "GTiff", "count": channels, "height": height, "width": width, "dtype": pixels.dtype.name,
            "tiled": True, "blockxsize": 256, "blockysize": 256, "compress": "deflate", "predictor": predictor,
            "interleave": "band",
        }
        with rasterio.open(f"{folder}/{number}.tif", "w", **profile) as file:
            file.write(pixels)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda item: write(*item), dict(items).items()))


def window(folder, number, size, draw):
    files = own.__dict__.setdefault("files", {})
    if number not in files:
        files[number] = rasterio.open(f"{folder}/{number}.tif")
    file = files[number]
    left, top = (int(part * (side - size + 1)) for part, side in zip(draw, (file.width, file.height)))
    return file.read(window=Window(left, top, size, size))


def epochs(items, folder, threads, batch, size):
    numbers = numpy.array([number for number, _ in items])
    random = numpy.random.default_rng(0)

    def epoch(pool):
        order, draws = random.permutation(numbers), random.random((len(numbers), 2))
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            jobs = [(folder, int(number), size, draw) for number, draw in zip(part, draws[begin : begin + batch])]
            windows = pool.map(lambda job: window(*job), jobs) if threads > 1 else [window(*job) for job in jobs]
            yield numpy.stack(list(windows)), part

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        while True:
            yield epoch(pool)


def decode(items, folder, size):
    def middle(number):
        with rasterio.open(f"{folder}/{number}.tif") as file:
            left, top = (file.width - size) // 2, (file.height - size) // 2
            return file.read(window=Window(left, top, size, size)).transpose(1, 2, 0)

    pixels = numpy.ascontiguousarray(numpy.stack([middle(number) for number, _ in items]))
    return pixels.reshape(len(items), -1).view("uint8")
