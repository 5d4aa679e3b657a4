"""WebDataset from a web server: tar shards through `pipe:curl`. FOLDER is the URL of a listing of them."""

import importlib.metadata as metadata
import urllib.request

import webdataset as wds

from contend import torch_parts


def describe():
    return f"webdataset {metadata.version('webdataset')}: tar shards by pipe:curl, shuffle(1000)"


def epochs(items, url, threads, batch, size):
    augment = torch_parts.augment(size)

    def sample(pair):
        data, number = pair
        return augment(torch_parts.decoded(data)), int(number)

    names = urllib.request.urlopen(url + "/names.txt").read().decode().split()
    dataset = (
        wds.WebDataset([f"pipe:curl -s -f {url}/{name}" for name in names if name.endswith(".tar")], shardshuffle=100)
        .shuffle(1000)
        .to_tuple("jpg", "cls")
        .map(sample)
        .batched(batch)
    )
    loader = wds.WebLoader(dataset, batch_size=None, num_workers=threads, persistent_workers=True,
                           worker_init_fn=torch_parts.one_thread)
    while True:
        yield iter(loader)
