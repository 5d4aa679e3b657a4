"""torchvision on the card: batches of files decoded by nvJPEG, then cropped, resized and flipped there."""

import concurrent.futures
import importlib.metadata as metadata
import random

import numpy
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

from contend import torch_parts


def missing():
    if not torch.cuda.is_available():
        return "torch finds no CUDA device here"
    try:
        torch.ops.image.decode_jpegs_cuda
    except AttributeError:
        return "this torchvision has no nvJPEG"
    return None


def describe():
    return (
        f"torchvision {metadata.version('torchvision')}, torch {torch.__version__}, {torch.cuda.get_device_name()}: "
        "threads that read files, decode_jpeg of a batch on the card (nvJPEG), RandomResizedCrop and flip there"
    )


def decoded(files):
    return decode_jpeg(files, mode=ImageReadMode.RGB, device="cuda")


def epochs(items, folder, threads, batch, size):
    augment = torch_parts.augment(size)
    readers = concurrent.futures.ThreadPoolExecutor(threads)
    ahead = 2  # batches read in advance, beyond one for each thread

    def load(part):
        files = [torch.frombuffer(bytearray(torch_parts.read(path)), dtype=torch.uint8) for _, path in part]
        return files, [number for number, _ in part]

    def epoch():
        order = list(items)
        random.shuffle(order)
        parts = [order[at:at + batch] for at in range(0, len(order), batch)]
        reading = [readers.submit(load, part) for part in parts[:ahead + threads]]
        for at in range(len(parts)):
            files, numbers = reading[at].result()
            reading[at] = None
            if len(reading) < len(parts):
                reading.append(readers.submit(load, parts[len(reading)]))
            yield torch.stack([augment(picture) for picture in decoded(files)]), numbers
        torch.cuda.synchronize()  # work that was only started must not count as done

    while True:
        yield epoch()


def decode(items, folder, size):
    stretch = v2.Resize((size, size), antialias=True)
    files = [torch.frombuffer(bytearray(torch_parts.read(path)), dtype=torch.uint8) for _, path in items]
    return numpy.stack([stretch(picture).permute(1, 2, 0).cpu().numpy() for picture in decoded(files)])
