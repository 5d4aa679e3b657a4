"""PyTorch's DataLoader over files, decoded by torchvision; its v2 transforms on uint8 tensors."""

import importlib.metadata as metadata

import torch

from contend import torch_parts

RECIPES = torch_parts.RECIPES


def describe():
    return (
        f"torchvision {metadata.version('torchvision')}, torch {torch.__version__}: files, decode_jpeg, "
        "DataLoader with persistent workers, antialiased resize"
    )


def decoded(path):
    return torch_parts.decoded(torch_parts.read(path))


def epochs(items, folder, threads, batch, size, recipe=""):
    return torch_parts.epochs_of_files(items, decoded, threads, batch, torch_parts.augment(size, recipe))


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
