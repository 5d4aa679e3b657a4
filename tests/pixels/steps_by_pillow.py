#!/usr/bin/env python3
"""Prints steps_by_pillow.inc: Pillow's results for two pictures, as checksums of the pixels.

    pip install pillow; tests/pixels/steps_by_pillow.py > tests/pixels/steps_by_pillow.inc
"""
import pathlib
import sys
import zlib

import PIL
from PIL import ImageEnhance, ImageOps

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from formula_pictures import picture  # noqa: E402


def enhanced(kind):
    return lambda image, value: kind(image).enhance(value)


STEPS = {
    "brightness": (enhanced(ImageEnhance.Brightness), [0, 0.3, 0.7, 1, 1.25, 2.5]),
    "contrast": (enhanced(ImageEnhance.Contrast), [0, 0.3, 0.7, 1, 1.25, 2.5]),
    "saturation": (enhanced(ImageEnhance.Color), [0, 0.3, 0.7, 1, 1.25, 2.5]),
    "sharpness": (enhanced(ImageEnhance.Sharpness), [0, 0.5, 1, 1.5, 3]),
    "grey": (lambda image, _: image.convert("L").convert(image.mode), [0]),
    "invert": (lambda image, _: ImageOps.invert(image), [0]),
    "solarize": (lambda image, value: ImageOps.solarize(image, value), [0, 1, 100, 128, 256]),
    "posterize": (lambda image, value: ImageOps.posterize(image, value), [1, 2, 4, 7, 8]),
    "equalize": (lambda image, _: ImageOps.equalize(image), [0]),
    "autocontrast": (lambda image, _: ImageOps.autocontrast(image), [0]),
}

print(f"// Made by steps_by_pillow.py with Pillow {PIL.__version__}: step, its parameter, number and")
print("// channels of the picture, CRC-32 of the result.")
for name, (step, parameters) in STEPS.items():
    for parameter in parameters:
        for number in (0, 1):
            for channels in (3, 1):
                checksum = zlib.crc32(step(picture(number, channels), parameter).tobytes())
                print(f'{{"{name}", {parameter}, {number}, {channels}, 0x{checksum:08x}U}},')
