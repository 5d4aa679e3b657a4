"""FFCV from its own file of raw images; plays the middle of each."""

import importlib.metadata as metadata

import numpy
from ffcv.fields import RGBImageField
from ffcv.fields.decoders import CenterCropRGBImageDecoder, SimpleRGBImageDecoder
from ffcv.loader import OrderOption
from ffcv.transforms import ToTensor
from PIL import Image

from contend import ffcv as jpeg


def describe():
    return (
        f"ffcv {metadata.version('ffcv')}: .beton of raw images, OrderOption.RANDOM, os_cache, "
        "SimpleRGBImageDecoder, or CenterCropRGBImageDecoder where the middle is less than the image"
    )


def pack(items, folder, threads):
    jpeg.write(items, folder, threads, RGBImageField(write_mode="raw"))


def middle(items, size):
    width, height = Image.open(items[0][1]).size
    if (width, height) == (size, size):
        return SimpleRGBImageDecoder()
    # The crop is as large as the output, so nothing is resized.
    return CenterCropRGBImageDecoder((size, size), ratio=size / min(width, height))


def epochs(items, folder, threads, batch, size):
    image = [middle(items, size), ToTensor()]
    loader = jpeg.loader_of(folder, threads, batch, OrderOption.RANDOM, image)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    image = [middle(items, size), ToTensor()]
    loader = jpeg.loader_of(folder, 1, len(items), OrderOption.SEQUENTIAL, image)
    for pixels, _ in loader:
        return numpy.array(pixels)
    return numpy.zeros((0, size, size, 3))
