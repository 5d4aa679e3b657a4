"""PyTorch's DataLoader over files, decoded by torchcodec, which replaces torchvision's decoders."""

import importlib.metadata as metadata

import torch
from torchcodec.decoders import decode_jpeg

from contend import torch_parts


def describe():
    return (
        f"torchcodec {metadata.version('torchcodec')}, torch {torch.__version__}: files, decode_jpeg, "
        "DataLoader with persistent workers, torchvision's antialiased resize"
    )


def epochs(items, folder, threads, batch, size):
    return torch_parts.epochs_of_files(items, decode_jpeg, threads, batch, torch_parts.augment(size))


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size, decode_jpeg)
