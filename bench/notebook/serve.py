"""Measures how fast pictures become rows one at a time, as in a server, on one CPU: serve.py PICTURES... [--rounds N]

Sluice's Preprocess, Pillow with numpy, and torchvision (where it is installed) take turns. Each reads the bytes of the
same files, resizes the shorter side to 256, cuts 224 x 224 out of the middle, and normalizes to float32, channels
first. Prints pictures per second: the median of the rounds, and how many times as fast Sluice is in each. The machine
must be quiet.
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import time

import numpy

import sluice

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def with_sluice():
    # A pipeline given as steps puts channels last; its JSON has a member that says otherwise.
    pipeline = json.loads(sluice.Preprocess("short:256,center:224,normalize").pipeline)
    return sluice.Preprocess(json.dumps({**pipeline, "layout": "nchw"}), threads=1)


def with_pillow():
    from PIL import Image

    mean, std = (numpy.array(one, numpy.float32)[:, None, None] for one in (MEAN, STD))

    def row(file):
        image = Image.open(io.BytesIO(file))
        image.draft("RGB", (256, 256))
        image = image.convert("RGB")
        scale = 256 / min(image.size)
        image = image.resize([max(256, round(side * scale)) for side in image.size], Image.Resampling.BILINEAR)
        left, top = (image.width - 224) // 2, (image.height - 224) // 2
        pixels = numpy.asarray(image.crop((left, top, left + 224, top + 224)), numpy.float32)
        return (pixels.transpose(2, 0, 1) / 255 - mean) / std

    return row


def with_torchvision():
    import torch
    import torchvision
    from torchvision.transforms import v2 as steps

    torch.set_num_threads(1)
    transform = steps.Compose([
        steps.Resize(256, antialias=True), steps.CenterCrop(224), steps.ToDtype(torch.float32, scale=True),
        steps.Normalize(MEAN, STD)])

    def row(file):
        bytes_of = torch.frombuffer(bytearray(file), dtype=torch.uint8)
        return transform(torchvision.io.decode_image(bytes_of, torchvision.io.ImageReadMode.RGB))

    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pictures", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    files = [picture.read_bytes() for picture in given.pictures]
    ways = {}
    for name, make in ("Sluice", with_sluice), ("Pillow", with_pillow), ("torchvision", with_torchvision):
        try:
            ways[name] = make()
        except ImportError as error:
            print(f"{name}: left out: {error}")
    rates = {name: [] for name in ways}
    for number in range(given.rounds + 1):
        for name, row in ways.items():
            begin = time.perf_counter()
            for file in files:
                row(file)
            if number > 0:  # the first round warms up
                rates[name].append(len(files) / (time.perf_counter() - begin))
    for name, of_rounds in rates.items():
        times = [ours / other for ours, other in zip(rates["Sluice"], of_rounds)]
        print(f"{name:12} {statistics.median(of_rounds):8.0f} pictures/s   Sluice is {statistics.median(times):5.2f} "
              f"times as fast ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    main()
