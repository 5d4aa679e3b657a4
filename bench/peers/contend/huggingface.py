"""Hugging Face datasets: an Arrow file that is mapped into memory, from which whole batches are taken at once."""

import importlib.metadata as metadata
import shutil

import datasets
import torch

from contend import torch_parts


class Samples(torch.utils.data.Dataset):
    def __init__(self, folder, size):
        self.rows = datasets.load_from_disk(folder)
        self.augment = torch_parts.augment(size)

    def __len__(self):
        return len(self.rows)

    def __getitems__(self, indices):  # the DataLoader calls it for a batch
        rows = self.rows[indices]
        return [(self.augment(torch_parts.decoded(data)), number)
                for data, number in zip(rows["image"], rows["number"])]


def describe():
    return (
        f"datasets {metadata.version('datasets')}: Arrow on disk, random rows a batch at a time, DataLoader with "
        "persistent workers, torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    # The JPEGs are stored as bytes: the Image feature would decode them with PIL, which is slower.
    columns = {"image": datasets.Value("binary"), "number": datasets.Value("int64")}

    def rows():
        for number, path in items:
            yield {"image": torch_parts.read(path), "number": number}

    datasets.disable_progress_bars()
    made = datasets.Dataset.from_generator(rows, features=datasets.Features(columns), cache_dir=f"{folder}/cache")
    made.save_to_disk(f"{folder}/samples")
    shutil.rmtree(f"{folder}/cache")


def epochs(items, folder, threads, batch, size):
    return torch_parts.epochs_of(Samples(f"{folder}/samples", size), batch, threads, shuffle=True)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
