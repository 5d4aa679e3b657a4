"""FFCV from its own file."""

import importlib.metadata as metadata

import numpy
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image

RECIPES = {"imagenet": "an area filter"}


class Files:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        number, path = self.items[index]
        return Image.open(path).convert("RGB"), number


def describe():
    return (
        f"ffcv {metadata.version('ffcv')}: .beton of JPEGs at quality 90, OrderOption.RANDOM, os_cache, "
        "RandomResizedCropRGBImageDecoder (area filter)"
    )


def pack(items, folder, threads):
    write(items, folder, threads, RGBImageField(write_mode="jpg", jpeg_quality=90))


def write(items, folder, threads, image):
    fields = {"image": image, "number": IntField()}
    writer = DatasetWriter(f"{folder}/samples.beton", fields, num_workers=threads)
    writer.from_indexed_dataset(Files(items))


def loader_of(folder, threads, batch, order, image):
    return Loader(
        f"{folder}/samples.beton", batch_size=batch, num_workers=threads, order=order, os_cache=True,
        drop_last=False, pipelines={"image": image, "number": [IntDecoder(), ToTensor(), Squeeze()]})


def epochs(items, folder, threads, batch, size, recipe=""):
    image = [RandomResizedCropRGBImageDecoder((size, size)), RandomHorizontalFlip()]
    if recipe == "imagenet":
        mean, std = numpy.array([123.675, 116.28, 103.53]), numpy.array([58.395, 57.12, 57.375])
        image += [NormalizeImage(mean, std, numpy.float32)]
    image += [ToTensor()]
    loader = loader_of(folder, threads, batch, OrderOption.RANDOM, image)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    # All pictures have one size, so a crop of that size shows the whole frame.
    width, height = Image.open(items[0][1]).size
    whole = RandomResizedCropRGBImageDecoder(
        (size, size), scale=(1, 1), ratio=(width / height, width / height))
    loader = loader_of(folder, 1, len(items), OrderOption.SEQUENTIAL, [whole, ToTensor()])
    for pixels, _ in loader:
        return numpy.array(pixels)
    return numpy.zeros((0, size, size, 3))
