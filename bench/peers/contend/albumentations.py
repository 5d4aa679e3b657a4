"""PyTorch's DataLoader over files, decoded and changed by OpenCV: Albumentations."""

import importlib.metadata as metadata
import os

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")

import albumentations as A
import cv2
import numpy
import torch

from contend import torch_parts

FIXED = "resized without antialiasing"
RECIPES = {
    "imagenet": FIXED, "simclr": FIXED, "dino": FIXED,
    "detection": FIXED + "; adds to hue, saturation and value, where Sluice multiplies the last two",
}


def describe():
    return (
        f"albumentations {metadata.version('albumentations')}, OpenCV {cv2.__version__}, torch {torch.__version__}: "
        "files, cv2.imdecode, bilinear resize without antialiasing, DataLoader with persistent workers"
    )


def steps_of(size, recipe):
    def crop(side, low, high=1.0):
        return [A.RandomResizedCrop((side, side), scale=(low, high)), A.HorizontalFlip(p=0.5)]

    def colours(jitter, kernel, blur):
        return [A.ColorJitter(*jitter, p=0.8), A.ToGray(p=0.2),
                A.GaussianBlur(blur_limit=(kernel, kernel), sigma_limit=(0.1, 2.0), p=blur)]

    if recipe == "imagenet":
        return [[*crop(size, 0.08), A.Normalize()]]
    if recipe == "simclr":
        return [[*crop(size, 0.08), *colours((0.8, 0.8, 0.8, 0.2), 23, 0.5)]] * 2
    if recipe == "dino":
        jitter = (0.4, 0.4, 0.2, 0.1)
        return [[*crop(size, 0.4), *colours(jitter, 9, 1.0)],
                [*crop(size, 0.4), *colours(jitter, 9, 0.1), A.Solarize((0.5, 0.5), p=0.2)],
                *[[*crop(96, 0.05, 0.4), *colours(jitter, 9, 0.5)]] * 8]
    if recipe == "detection":
        warp = A.Affine(scale=(0.5, 1.5), translate_percent=(-0.1, 0.1), p=1)
        return [[A.Resize(size, size), warp, A.HorizontalFlip(p=0.5),
                 A.HueSaturationValue(hue_shift_limit=3, sat_shift_limit=89, val_shift_limit=51, p=1)]]
    return [crop(size, 0.08)]


def augment(size, recipe):
    views = [A.Compose(steps) for steps in steps_of(size, recipe)]

    def change(picture):
        changed = tuple(torch.from_numpy(numpy.ascontiguousarray(view(image=picture)["image"])) for view in views)
        return changed if len(changed) > 1 else changed[0]

    return change


def decoded(path):
    cv2.setNumThreads(0)
    data = numpy.fromfile(path, numpy.uint8)
    return cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def epochs(items, folder, threads, batch, size, recipe=""):
    return torch_parts.epochs_of_files(items, decoded, threads, batch, augment(size, recipe))


def decode(items, folder, size):
    return numpy.stack([cv2.resize(decoded(path), (size, size)) for _, path in items])
