"""PyTorch's DataLoader over files, decoded by torchvision."""

import importlib.metadata as metadata

import torch

from contend import torch_parts


def describe():
    return (
        f"torchvision {metadata.version('torchvision')}, torch {torch.__version__}: files, decode_jpeg, "
        "DataLoader with persistent workers, antialiased resize"
    )


def decoded(path):
    return torch_parts.decoded(torch_parts.read(path))


def epochs(items, folder, threads, batch, size):
    return torch_parts.epochs_of_files(items, decoded, threads, batch, size)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
