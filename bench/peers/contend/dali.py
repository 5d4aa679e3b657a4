"""DALI on the CPU, from files."""

import importlib.metadata as metadata

import numpy
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import rand_augment

COLOURS = (
    "colours and grey in one color_twist, in a fixed order and with contrast about mid-grey; the picture is decoded "
    "once for all views"
)
RECIPES = {
    "imagenet": "",
    "simclr": COLOURS,
    "dino": COLOURS,
    "randaug": "rand_augment of its auto_aug",
    "detection": "HSV by a linear map of RGB",
}
JPEG = {"device": "cpu", "output_type": types.RGB, "use_fast_idct": True}
LINEAR = {"interp_type": types.INTERP_LINEAR, "antialias": True}
RATIOS = {"random_aspect_ratio": [3 / 4, 4 / 3]}


def by_chance(probability):
    return fn.random.coin_flip(probability=probability, dtype=types.BOOL)


def factor(least, most, chance):
    """A factor, or 1."""
    return 1 + (fn.random.uniform(range=[least, most]) - 1) * fn.random.coin_flip(probability=chance)


def crop(images, size, low, high=1.0):
    cut = fn.random_resized_crop(images, size=(size, size), random_area=[low, high], **RATIOS, **LINEAR)
    return fn.flip(cut, horizontal=fn.random.coin_flip())


def colours(images, amounts, kernel, blur):
    brightness, contrast, saturation, hue = amounts
    jitters = fn.random.coin_flip(probability=0.8)

    def around(x):
        return 1 + fn.random.uniform(range=[-x, x]) * jitters

    images = fn.color_twist(
        images, brightness=around(brightness), contrast=around(contrast),
        saturation=around(saturation) * fn.random.coin_flip(probability=0.8),  # 0: grey
        hue=fn.random.uniform(range=[-360 * hue, 360 * hue]) * jitters)
    if by_chance(blur):
        images = fn.gaussian_blur(images, window_size=kernel, sigma=fn.random.uniform(range=[0.1, 2.0]))
    return images


def solarized(images, probability):
    if by_chance(probability):
        bright = images >= 128
        images = fn.cast(bright * (255 - images) + (images < 128) * images, dtype=types.UINT8)
    return images


def views_of(files, size, recipe):
    if recipe == "simclr":
        images = fn.decoders.image(files, **JPEG)
        return [colours(crop(images, size, 0.08), (0.8, 0.8, 0.8, 0.2), 23, 0.5) for _ in range(2)]
    if recipe == "dino":
        images = fn.decoders.image(files, **JPEG)
        amounts = (0.4, 0.4, 0.2, 0.1)
        return [colours(crop(images, size, 0.4), amounts, 9, 1.0),
                solarized(colours(crop(images, size, 0.4), amounts, 9, 0.1), 0.2),
                *[colours(crop(images, 96, 0.05, 0.4), amounts, 9, 0.5) for _ in range(8)]]
    if recipe == "detection":
        images = fn.resize(fn.decoders.image(files, **JPEG), size=(size, size), **LINEAR)
        zoom = fn.random.uniform(range=[0.5, 1.5])
        moves = fn.random.uniform(range=[-0.1 * size, 0.1 * size], shape=(2,))
        matrix = fn.transforms.scale(scale=fn.stack(zoom, zoom), center=(size / 2, size / 2))
        matrix = fn.transforms.translation(matrix, offset=moves)
        images = fn.warp_affine(images, matrix=matrix, inverse_map=False, fill_value=0)
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        return [fn.hsv(images, hue=fn.random.uniform(range=[-5.4, 5.4]), saturation=factor(0.3, 1.7, 1),
                       value=factor(0.6, 1.4, 1))]
    images = fn.decoders.image_random_crop(files, random_area=[0.08, 1.0], **RATIOS, **JPEG)
    images = fn.resize(images, size=(size, size), **LINEAR)
    if recipe == "imagenet":
        return [fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), output_layout="CHW", mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375])]
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    if recipe == "randaug":
        images = rand_augment.rand_augment(images, n=2, m=9, shape=(size, size), fill_value=0)
    return [images]


def describe():
    return (
        f"DALI {metadata.version('nvidia-dali-cuda120')}: files, image_random_crop with the fast transform, "
        "CPU, antialiased linear resize"
    )


def epochs(items, folder, threads, batch, size, recipe=""):
    @pipeline_def(batch_size=batch, num_threads=threads, device_id=None, prefetch_queue_depth=2,
                  enable_conditionals=True)
    def pipe():
        files, numbers = fn.readers.file(
            files=[path for _, path in items], labels=[number for number, _ in items],
            random_shuffle=True, initial_fill=min(len(items), 5000), name="reader")
        return *views_of(files, size, recipe), numbers

    loader = pipe()
    loader.build()
    # DALI fills up the last batch; the samples that fill it are not counted.
    batches = (len(items) + batch - 1) // batch

    def epoch():
        left = len(items)
        for _ in range(batches):
            *views, numbers = loader.run()
            count = min(left, batch)
            left -= count
            yield [view.as_array()[:count] for view in views], numbers.as_array()[:count, 0]

    while True:
        yield epoch()


def decode(items, folder, size):
    @pipeline_def(batch_size=len(items), num_threads=2, device_id=None)
    def pipe():
        files, _ = fn.readers.file(files=[path for _, path in items], labels=list(range(len(items))))
        return fn.resize(fn.decoders.image(files, **JPEG), size=(size, size), **LINEAR)

    loader = pipe()
    loader.build()
    return numpy.array(loader.run()[0].as_array())
