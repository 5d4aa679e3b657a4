"""LitData: optimized chunks, local."""

import importlib.metadata as metadata

import litdata

from contend import torch_parts


def packed(item):
    number, path = item
    return {"image": torch_parts.read(path), "number": number}


class Samples(torch_parts.Augmented, litdata.StreamingDataset):
    def __init__(self, folder, size):
        super().__init__(folder, shuffle=True)
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
    loader = litdata.StreamingDataLoader(
        Samples(folder, size), batch_size=batch, num_workers=threads, persistent_workers=True,
        worker_init_fn=torch_parts.one_thread)
    while True:
        yield iter(loader)


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
