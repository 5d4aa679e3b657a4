"""s3torchconnector: each JPEG is an object and is fetched by its key. FOLDER is an s3:// URL."""

import importlib.metadata as metadata
import os

import s3torchconnector
import torch

from contend import torch_parts


class Samples(torch.utils.data.Dataset):
    def __init__(self, url, items, size):
        config = s3torchconnector.S3ClientConfig(force_path_style=True)
        self.objects = s3torchconnector.S3MapDataset.from_objects(
            [f"{url}/{number}.jpg" for number, _ in items], region=os.environ["AWS_REGION"],
            endpoint=os.environ["AWS_ENDPOINT_URL"], s3client_config=config)
        self.numbers = [number for number, _ in items]
        self.augment = torch_parts.augment(size)

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return self.augment(torch_parts.decoded(self.objects[index].read())), self.numbers[index]


def describe():
    return f"s3torchconnector {metadata.version('s3torchconnector')}: an object for each JPEG, DataLoader"


def epochs(items, url, threads, batch, size):
    return torch_parts.epochs_of(Samples(url, items, size), batch, threads, shuffle=True)
