"""MosaicML Streaming: MDS shards, in a local folder or at an s3:// URL; from a URL, each epoch downloads them again."""

import importlib.metadata as metadata

import streaming
from streaming.base.util import clean_stale_shared_memory

from contend import torch_parts


class Samples(torch_parts.Augmented, streaming.StreamingDataset):
    def __init__(self, batch, size, **places):
        super().__init__(shuffle=True, batch_size=batch, **places)
        self.augment = torch_parts.augment(size)


def describe():
    return (
        f"mosaicml-streaming {metadata.version('mosaicml-streaming')}: MDS shards, shuffled, DataLoader with "
        "persistent workers, torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    with streaming.MDSWriter(out=folder, columns={"image": "bytes", "number": "int"}) as writer:
        for number, path in items:
            writer.write({"image": torch_parts.read(path), "number": number})


def epochs(items, folder, threads, batch, size):
    clean_stale_shared_memory()
    if "://" not in folder:
        yield from torch_parts.epochs_of(Samples(batch, size, local=folder), batch, threads)
    for local in torch_parts.new_folders():
        clean_stale_shared_memory()
        yield iter(torch_parts.loader_of(Samples(batch, size, remote=folder, local=local), batch, threads))


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
