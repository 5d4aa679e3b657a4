#!/usr/bin/env python3
"""Prints affine_by_torchvision.inc: two pictures warped by torchvision, on Pillow.

    pip install torchvision pillow
    tests/reader/affine_by_torchvision.py > tests/reader/affine_by_torchvision.inc
"""
import PIL
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

WIDTH, HEIGHT = 19, 14


def picture(channels):
    """The test has the same formula."""
    values = bytearray()
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for c in range(channels):
                values.append((x * 37 + y * 59 + c * 83 + x * y * (c + 1)) % 256)
    return Image.frombytes("RGB" if channels == 3 else "L", (WIDTH, HEIGHT), bytes(values))


CASES = [
    # degrees, shift in pixels, scale, shears in degrees, fill
    (0, (0, 0), 1.0, (0, 0), 0),
    (0, (3, -2), 1.0, (0, 0), 7),
    (30, (0, 0), 1.0, (0, 0), 0),
    (-75, (1, 2), 1.3, (0, 0), 200),
    (180, (0, 0), 0.6, (0, 0), 0),
    (10, (-4, 1), 0.9, (20, 0), 0),
    (0, (0, 0), 1.0, (-35, 12), 128),
    (133, (2, 2), 1.7, (8, -30), 0),
]

print(f"// Made by affine_by_torchvision.py with torchvision {torchvision.__version__} and Pillow "
      f"{PIL.__version__}:")
print("// degrees, shift, scale, shears, fill, channels, whether bilinear, pixels.")
for degrees, shift, scale, shear, fill in CASES:
    for channels in (3, 1):
        for bilinear in (False, True):
            mode = InterpolationMode.BILINEAR if bilinear else InterpolationMode.NEAREST
            out = F.affine(picture(channels), degrees, list(shift), scale, list(shear), mode,
                           [fill] * channels)
            values = ",".join(str(v) for v in out.tobytes())
            print(f"{{{degrees}, {shift[0]}, {shift[1]}, {scale}, {shear[0]}, {shear[1]}, {fill}, "
                  f"{channels}, {str(bilinear).lower()}, {{{values}}}}},")
