"""Shared by the loaders that use PyTorch's DataLoader: decoding with torchvision, and the DataLoader's options."""

import tempfile

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
    """Decodes and augments the samples of a streaming dataset of {"image": JPEG, "number"}."""

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.augment(decoded(sample["image"])), sample["number"]


class Files(torch.utils.data.Dataset):
    """The pictures of a list, each decoded by `decode(path)` and augmented."""

    def __init__(self, items, decode, size):
        self.items, self.decode, self.augment = items, decode, augment(size)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        number, path = self.items[index]
        return self.augment(self.decode(path)), number


def loader_of(samples, batch, threads, kind=torch.utils.data.DataLoader, **options):
    return kind(samples, batch_size=batch, num_workers=threads, worker_init_fn=one_thread, **options)


def epochs_of(samples, batch, threads, **options):
    """Epochs of a DataLoader whose workers live as long as it does."""
    loader = loader_of(samples, batch, threads, persistent_workers=True, **options)
    while True:
        yield iter(loader)


def epochs_of_files(items, decode, threads, batch, size):
    return epochs_of(Files(items, decode, size), batch, threads, shuffle=True)


def new_folders():
    """Yields empty folders; each is removed when the next one is taken."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            yield folder


def decode_paths(items, size, decode=lambda path: decoded(read(path))):
    stretch = v2.Resize((size, size), antialias=True)
    return numpy.stack([stretch(decode(path)).permute(1, 2, 0).numpy() for _, path in items])


def one_thread(_worker=0):
    torch.set_num_threads(1)
