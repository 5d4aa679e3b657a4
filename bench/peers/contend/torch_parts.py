"""Shared by the loaders that use PyTorch's DataLoader: decoding with torchvision, and the DataLoader's options."""

import tempfile

import numpy
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2


BLUR = "a blur of a tensor is computed in float32"
RECIPES = {
    "imagenet": "", "simclr": BLUR, "dino": BLUR, "randaug": "",
    "detection": "ColorJitter of brightness, saturation and hue, where Sluice has HSV",
}


def steps_of(size, recipe):
    """The steps of each view of a recipe, for tensors or for PIL images."""
    flip = v2.RandomHorizontalFlip()

    def crop(side, low, high=1.0):
        return [v2.RandomResizedCrop(side, scale=(low, high), antialias=True), flip]

    def colours(jitter, kernel, blur):
        return [v2.RandomApply([v2.ColorJitter(*jitter)], 0.8), v2.RandomGrayscale(0.2),
                v2.RandomApply([v2.GaussianBlur(kernel, (0.1, 2.0))], blur)]

    if recipe == "imagenet":
        return [[*crop(size, 0.08), v2.ToImage(), v2.ToDtype(torch.float32, scale=True),
                 v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]]
    if recipe == "simclr":
        return [[*crop(size, 0.08), *colours((0.8, 0.8, 0.8, 0.2), 23, 0.5)]] * 2
    if recipe == "dino":
        jitter = (0.4, 0.4, 0.2, 0.1)
        return [[*crop(size, 0.4), *colours(jitter, 9, 1.0)],
                [*crop(size, 0.4), *colours(jitter, 9, 0.1), v2.RandomSolarize(128, 0.2)],
                *[[*crop(96, 0.05, 0.4), *colours(jitter, 9, 0.5)]] * 8]
    if recipe == "randaug":
        return [[*crop(size, 0.08), v2.RandAugment(2, 9)]]
    if recipe == "detection":
        warp = v2.RandomAffine(0, (0.1, 0.1), (0.5, 1.5), interpolation=v2.InterpolationMode.BILINEAR)
        return [[v2.Resize((size, size), antialias=True), warp, flip,
                 v2.ColorJitter(brightness=0.4, saturation=0.7, hue=0.015)]]
    return [crop(size, 0.08)]


def augment(size, recipe="", first=(), last=()):
    """A function of a picture that returns its view, or a tuple of its views."""
    views = [v2.Compose([*first, *steps, *last]) for steps in steps_of(size, recipe)]
    return views[0] if len(views) == 1 else lambda picture: tuple(view(picture) for view in views)


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

    def __init__(self, items, decode, augment):
        self.items, self.decode, self.augment = items, decode, augment

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


def epochs_of_files(items, decode, threads, batch, augment):
    return epochs_of(Files(items, decode, augment), batch, threads, shuffle=True)


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
