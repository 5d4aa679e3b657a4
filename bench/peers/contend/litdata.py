"""LitData: optimized chunks, in a local folder or at an s3:// URL; from a URL, each epoch downloads them again."""

import importlib.metadata as metadata
import os

import litdata
import litdata.streaming.downloader

from contend import torch_parts

# LitData's client refuses plain HTTP, which remote_peers.py's server uses, and has no option for it.
getattr(litdata.streaming.downloader, "_OBSTORE_CLIENT_OPTIONS", {})["allow_http"] = "true"
LOADER = {"kind": litdata.StreamingDataLoader}


def packed(item):
    number, path = item
    return {"image": torch_parts.read(path), "number": number}


class Samples(torch_parts.Augmented, litdata.StreamingDataset):
    def __init__(self, place, size, **options):
        super().__init__(place, shuffle=True, **options)
        self.augment = torch_parts.augment(size)


def describe():
    return (
        f"litdata {metadata.version('litdata')}: chunks of 64 MB, StreamingDataLoader with persistent workers, "
        "torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    litdata.optimize(fn=packed, inputs=items, output_dir=folder, chunk_bytes="64MB",
                     num_workers=threads, verbose=False)


def epochs(items, folder, threads, batch, size):
    if "://" not in folder:
        yield from torch_parts.epochs_of(Samples(folder, size), batch, threads, **LOADER)
    endpoint = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    for local in torch_parts.new_folders():
        samples = Samples(folder, size, cache_dir=local, storage_options=endpoint)
        yield iter(torch_parts.loader_of(samples, batch, threads, **LOADER))


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
