"""DALI on the CPU, from files."""

import importlib.metadata as metadata

import numpy
from nvidia.dali import fn, pipeline_def, types


def describe():
    return (
        f"DALI {metadata.version('nvidia-dali-cuda120')}: files, image_random_crop with the fast transform, "
        "CPU, antialiased linear resize"
    )


def epochs(items, folder, threads, batch, size):
    @pipeline_def(batch_size=batch, num_threads=threads, device_id=None, prefetch_queue_depth=2)
    def pipe():
        files, numbers = fn.readers.file(
            files=[path for _, path in items], labels=[number for number, _ in items],
            random_shuffle=True, initial_fill=min(len(items), 5000), name="reader")
        images = fn.decoders.image_random_crop(
            files, device="cpu", output_type=types.RGB, use_fast_idct=True,
            random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3])
        images = fn.resize(images, size=(size, size), interp_type=types.INTERP_LINEAR, antialias=True)
        return fn.flip(images, horizontal=fn.random.coin_flip()), numbers

    loader = pipe()
    loader.build()
    # DALI fills up the last batch; the samples that fill it are not counted.
    batches = (len(items) + batch - 1) // batch

    def epoch():
        left = len(items)
        for _ in range(batches):
            images, numbers = loader.run()
            count = min(left, batch)
            left -= count
            yield images.as_array()[:count], numbers.as_array()[:count, 0]

    while True:
        yield epoch()


def decode(items, folder, size):
    @pipeline_def(batch_size=len(items), num_threads=2, device_id=None)
    def pipe():
        files, _ = fn.readers.file(files=[path for _, path in items], labels=list(range(len(items))))
        images = fn.decoders.image(files, device="cpu", output_type=types.RGB, use_fast_idct=True)
        return fn.resize(images, size=(size, size), interp_type=types.INTERP_LINEAR, antialias=True)

    loader = pipe()
    loader.build()
    return numpy.array(loader.run()[0].as_array())
