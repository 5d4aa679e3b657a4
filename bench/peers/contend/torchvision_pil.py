"""PyTorch's DataLoader over files, decoded by Pillow; torchvision's v2 transforms on its images."""

import importlib.metadata as metadata

import numpy
import torch
from PIL import Image
from torchvision.transforms import v2

from contend import torch_parts

RECIPES = {
    name: "" if text == torch_parts.BLUR else text for name, text in torch_parts.RECIPES.items()
}


def describe():
    return (
        f"torchvision {metadata.version('torchvision')}, Pillow {metadata.version('pillow')}, torch "
        f"{torch.__version__}: files, Image.open, v2 transforms of PIL images, DataLoader with "
        "persistent workers"
    )


def decoded(path):
    return Image.open(path).convert("RGB")


def epochs(items, folder, threads, batch, size, recipe=""):
    last = [] if recipe == "imagenet" else [v2.PILToTensor()]
    return torch_parts.epochs_of_files(
        items, decoded, threads, batch, torch_parts.augment(size, recipe, last=last))


def decode(items, folder, size):
    return numpy.stack([numpy.asarray(decoded(path).resize((size, size), Image.BILINEAR)) for _, path in items])
