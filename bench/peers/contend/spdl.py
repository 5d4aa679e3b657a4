"""SPDL: its thread pipeline over files, decoded and resized by FFmpeg."""

import importlib.metadata as metadata
import math
import random

import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder

CODEC = {"decoder_options": {"threads": "1"}}


def describe():
    return (
        f"spdl {metadata.version('spdl')}: files, FFmpeg's decoder and filters (fast_bilinear), a thread "
        "pipeline"
    )


def crop_of(width, height):
    """Chooses a random crop by torchvision's rule."""
    area = width * height
    for _ in range(10):
        target = area * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    return 0, 0, width, height


def frames_of(path, filters):
    packets = spdl.io.demux_image(path)
    text = filters(packets.codec.width, packets.codec.height)
    return spdl.io.decode_packets(
        packets, decode_config=spdl.io.decode_config(**CODEC), filter_desc=text)


def epochs(items, folder, threads, batch, size):
    def filters(width, height):
        x, y, w, h = crop_of(width, height)
        flip = ",hflip" if random.random() < 0.5 else ""
        return (f"crop={w}:{h}:{x}:{y}:exact=1,scale={size}:{size}:flags=fast_bilinear,format=rgb24{flip}")

    def sample(item):
        number, path = item
        return frames_of(path, filters), number

    def batched(pairs):
        buffer = spdl.io.convert_frames([frames for frames, _ in pairs])
        return spdl.io.to_numpy(buffer), [number for _, number in pairs]

    def epoch():
        order = list(items)
        random.shuffle(order)
        pipeline = (
            PipelineBuilder().add_source(order).pipe(sample, concurrency=threads).aggregate(batch)
            .pipe(batched).add_sink(2).build(num_threads=threads))
        with pipeline.auto_stop():
            yield from pipeline.get_iterator()

    while True:
        yield epoch()


def decode(items, folder, size):
    text = f"scale={size}:{size}:flags=fast_bilinear,format=rgb24"
    frames = [frames_of(path, lambda width, height: text) for _, path in items]
    return numpy.array(spdl.io.to_numpy(spdl.io.convert_frames(frames)))
