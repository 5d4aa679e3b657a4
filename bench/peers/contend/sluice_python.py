"""Sluice from Python: its loader's batches as torch's tensors."""

import pathlib

import sluice
import torch


def describe():
    return f"sluice {sluice.__version__} from Python, torch {torch.__version__}: JPEGs as given, batch.torch()"


def pack(items, folder, threads):
    fields = [sluice.Field.image(), sluice.Field.array("number", "int64")]
    with sluice.Writer(f"{folder}/dataset", fields) as writer:
        for index, (number, path) in enumerate(items):
            writer.add(f"{index}.jpg", image=pathlib.Path(path).read_bytes(), number=number)


def loader_of(folder, threads, batch, transform, shuffle):
    return sluice.Loader(f"{folder}/dataset", batch, threads=threads, transform=transform,
                         order=sluice.OrderOptions(shuffle=shuffle))


def epochs(items, folder, threads, batch, size):
    loader = loader_of(folder, threads, batch, f"rrc:{size},flip", "quasi_random")

    def epoch():
        for tensors in map(sluice.Batch.torch, loader):
            yield tensors["image"], tensors["number"]

    while True:
        yield epoch()


def decode(items, folder, size):
    loader = loader_of(folder, 1, len(items), f"resize:{size}", "sequential")
    return next(iter(loader))["image"].numpy()
