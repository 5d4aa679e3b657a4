"""LitData from an object store: optimized chunks, downloaded anew in each epoch. FOLDER is an s3:// URL."""

import importlib.metadata as metadata
import os
import tempfile

import litdata
import litdata.streaming.downloader

from contend import torch_parts

# Its client refuses plain HTTP, which this comparison's server speaks, and has no option for that.
getattr(litdata.streaming.downloader, "_OBSTORE_CLIENT_OPTIONS", {})["allow_http"] = "true"


class Samples(torch_parts.Augmented, litdata.StreamingDataset):
    def __init__(self, url, size, local):
        super().__init__(url, cache_dir=local, shuffle=True,
                         storage_options={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]})
        self.augment = torch_parts.augment(size)


def describe():
    return f"litdata {metadata.version('litdata')}: chunks of 64 MB from S3, StreamingDataLoader"


def epochs(items, url, threads, batch, size):
    while True:
        with tempfile.TemporaryDirectory() as local:  # a new one: nothing is there yet
            loader = litdata.StreamingDataLoader(
                Samples(url, size, local), batch_size=batch, num_workers=threads,
                worker_init_fn=torch_parts.one_thread)
            yield iter(loader)
            del loader
