"""MosaicML Streaming from an object store: MDS shards, downloaded anew in each epoch. FOLDER is an s3:// URL."""

import importlib.metadata as metadata
import tempfile

import streaming
import torch
from streaming.base.util import clean_stale_shared_memory

from contend import torch_parts


class Samples(torch_parts.Augmented, streaming.StreamingDataset):
    def __init__(self, url, batch, size, local):
        super().__init__(remote=url, local=local, shuffle=True, batch_size=batch)
        self.augment = torch_parts.augment(size)


def describe():
    return f"mosaicml-streaming {metadata.version('mosaicml-streaming')}: MDS shards from S3, shuffled"


def epochs(items, url, threads, batch, size):
    while True:
        with tempfile.TemporaryDirectory() as local:  # a new one: nothing is there yet
            clean_stale_shared_memory()
            loader = torch.utils.data.DataLoader(
                Samples(url, batch, size, local), batch_size=batch, num_workers=threads,
                worker_init_fn=torch_parts.one_thread)
            yield iter(loader)
            del loader
