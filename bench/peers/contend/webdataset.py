"""WebDataset: tar shards in a local folder, or at a URL with a list of them; read in order, shuffled in a buffer."""

import glob
import importlib.metadata as metadata
import urllib.request

import webdataset as wds

from contend import torch_parts

RECIPES = torch_parts.RECIPES


def describe():
    return (
        f"webdataset {metadata.version('webdataset')}: tar shards, shuffle(1000), WebLoader with persistent "
        "workers, torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    # At least two shards for each worker.
    count = max(1, min(1000, len(items) // max(8, 2 * threads)))
    with wds.ShardWriter(f"{folder}/shard-%06d.tar", maxcount=count, verbose=0) as writer:
        for place, (number, path) in enumerate(items):
            writer.write(
                {"__key__": f"{place:08d}", "jpg": torch_parts.read(path), "cls": str(number)})


def epochs(items, folder, threads, batch, size, recipe=""):
    augment = torch_parts.augment(size, recipe)

    def sample(pair):
        data, number = pair
        views = augment(torch_parts.decoded(data))
        return *(views if isinstance(views, tuple) else (views,)), int(number)

    if "://" in folder:
        names = urllib.request.urlopen(folder + "/names.txt").read().decode().split()
        shards = [f"pipe:curl -s -f {folder}/{name}" for name in names if name.endswith(".tar")]
    else:
        shards = sorted(glob.glob(f"{folder}/*.tar"))
    dataset = (
        wds.WebDataset(shards, shardshuffle=100)
        .shuffle(1000)
        .to_tuple("jpg", "cls")
        .map(sample)
        .batched(batch)
    )
    for epoch in torch_parts.epochs_of(dataset, None, threads, kind=wds.WebLoader):
        yield ((parts[:-1], parts[-1]) for parts in epoch)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
