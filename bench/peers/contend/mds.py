"""MosaicML Streaming: MDS shards, local."""

import importlib.metadata as metadata

import streaming
import torch
from streaming.base.util import clean_stale_shared_memory

from contend import torch_parts


class Samples(torch_parts.Augmented, streaming.StreamingDataset):
    def __init__(self, folder, batch, size):
        super().__init__(local=folder, shuffle=True, batch_size=batch)
        self.augment = torch_parts.augment(size)


def describe():
    return (
        f"mosaicml-streaming {metadata.version('mosaicml-streaming')}: local MDS shards, shuffled, DataLoader "
        "with persistent workers, torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    with streaming.MDSWriter(out=folder, columns={"image": "bytes", "number": "int"}) as writer:
        for number, path in items:
            writer.write({"image": torch_parts.read(path), "number": number})


def epochs(items, folder, threads, batch, size):
    clean_stale_shared_memory()
    loader = torch.utils.data.DataLoader(
        Samples(folder, batch, size), batch_size=batch, num_workers=threads, persistent_workers=True,
        worker_init_fn=torch_parts.one_thread)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
