"""What the loaders that stand on PyTorch's DataLoader share: decoding with torchvision."""

import numpy
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2


def augment(size):
    return v2.Compose([v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip()])


def decoded(data):
    return decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode=ImageReadMode.RGB)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Augmented:
    """Over a streaming dataset of {"image": JPEG, "number"}: decoded and augmented samples."""

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.augment(decoded(sample["image"])), sample["number"]


def decode_paths(items, size):
    stretch = v2.Resize((size, size), antialias=True)
    return numpy.stack([stretch(decoded(read(path))).permute(1, 2, 0).numpy() for _, path in items])


def one_thread(_worker=0):
    torch.set_num_threads(1)
