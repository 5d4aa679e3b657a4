"""LanceDB: a table of its own, played by its StreamingDataset."""

import importlib.metadata as metadata

import lancedb
import pyarrow
import torch
from lancedb.streaming import StreamingDataset

from contend import torch_parts


def describe():
    return (
        f"lancedb {metadata.version('lancedb')}: a local table, StreamingDataset, shuffled, its threads for "
        "transforms, torchvision's decode_jpeg"
    )


def pack(items, folder, threads):
    names = pyarrow.schema([("image", pyarrow.binary()), ("number", pyarrow.int64())])

    def batches():
        for at in range(0, len(items), 256):
            part = items[at:at + 256]
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array([torch_parts.read(path) for _, path in part], pyarrow.binary()),
                 pyarrow.array([number for number, _ in part], pyarrow.int64())], schema=names)

    lancedb.connect(folder).create_table("samples", batches(), schema=names)


def epochs(items, folder, threads, batch, size):
    torch_parts.one_thread()
    augment = torch_parts.augment(size)
    table = lancedb.connect(folder).open_table("samples")

    def samples(rows):
        return [(augment(torch_parts.decoded(data.as_buffer())), number.as_py())
                for data, number in zip(rows["image"], rows["number"])]

    number = 0
    while True:
        # One split: with several, samples that do not divide evenly between them are left out.
        dataset = StreamingDataset(table, num_splits=1, epoch=number, read_batch_size=batch,
                                   transform=samples, transform_parallelism=threads, transform_queue_depth=2 * threads)
        yield iter(torch.utils.data.DataLoader(dataset, batch_size=batch))
        number += 1


def decode(items, folder, size):
    return torch_parts.decode_paths(items, size)
