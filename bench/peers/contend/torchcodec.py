"""PyTorch's DataLoader over files, decoded by torchcodec, which replaces torchvision's decoders."""

import importlib.metadata as metadata

import numpy
import torch
from torchcodec.decoders import decode_jpeg
from torchvision.transforms import v2

from contend import torch_parts


class Files(torch.utils.data.Dataset):
    def __init__(self, items, size):
        self.items = items
        self.augment = torch_parts.augment(size)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        number, path = self.items[index]
        return self.augment(decode_jpeg(path)), number


def describe():
    return (
        f"torchcodec {metadata.version('torchcodec')}, torch {torch.__version__}: files, decode_jpeg, "
        "DataLoader with persistent workers, torchvision's antialiased resize"
    )


def pack(items, folder, threads):
    pass


def epochs(items, folder, threads, batch, size):
    loader = torch.utils.data.DataLoader(
        Files(items, size), batch_size=batch, shuffle=True, num_workers=threads,
        persistent_workers=True, worker_init_fn=torch_parts.one_thread)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    stretch = v2.Resize((size, size), antialias=True)
    return numpy.stack([stretch(decode_jpeg(path)).permute(1, 2, 0).numpy() for _, path in items])
