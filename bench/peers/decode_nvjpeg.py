"""Measures how many of a folder's JPEGs per second torchvision decodes on the card (by nvJPEG).

    python3 decode_nvjpeg.py FOLDER [--batch N] [--rounds N] [--crop S]
    python3 decode_nvjpeg.py --copy

Decodes whole pictures; with --crop, each is then randomly cropped, resized to S x S and flipped on the card, as for a
training. The files are read before the clock starts. Prints the rate of each round, and the median of the rates. With
--copy, measures instead how fast torch copies 1 GB of page-locked memory to the card.
"""

import argparse
import pathlib
import statistics
import time

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file


def copy(rounds):
    here = torch.ones(1 << 30, dtype=torch.uint8).pin_memory()
    there = torch.empty_like(here, device="cuda")
    there.copy_(here, non_blocking=True)
    rates = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.monotonic()
        there.copy_(here, non_blocking=True)
        torch.cuda.synchronize()
        rates.append((1 << 30) / (time.monotonic() - begin))
    print(f"median {statistics.median(rates) / 1e9:.2f} GB/s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crop", type=int)
    parser.add_argument("--copy", action="store_true")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.copy:
        copy(arguments.rounds)
        return
    if arguments.folder is None:
        parser.error("name the folder of JPEGs")
    files = [read_file(str(path)) for path in sorted(arguments.folder.rglob("*"))
             if path.suffix.lower() in (".jpg", ".jpeg")]
    batches = [files[at:at + arguments.batch] for at in range(0, len(files), arguments.batch)]
    augment = None
    if arguments.crop:
        from torchvision.transforms import v2

        augment = v2.Compose([v2.RandomResizedCrop(arguments.crop, antialias=True), v2.RandomHorizontalFlip()])

    def play(batch):
        pictures = decode_jpeg(batch, mode=ImageReadMode.RGB, device="cuda")
        return torch.stack([augment(picture) for picture in pictures]) if augment else pictures

    play(batches[0])  # the first use of the library is not measured
    rates = []
    for _ in range(arguments.rounds):
        torch.cuda.synchronize()
        begin = time.monotonic()
        for batch in batches:
            play(batch)
        torch.cuda.synchronize()
        rates.append(len(files) / (time.monotonic() - begin))
        print(f"{rates[-1]:.0f} images/s", flush=True)
    print(f"median {statistics.median(rates):.0f} images/s")


if __name__ == "__main__":
    main()
