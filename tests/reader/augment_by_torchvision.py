#!/usr/bin/env python3
"""Prints augment_by_torchvision.inc: the magnitudes of torchvision's RandAugment and
TrivialAugmentWide, and the results of their operations on two pictures, as checksums.

    pip install torchvision pillow
    tests/reader/augment_by_torchvision.py > tests/reader/augment_by_torchvision.inc
"""
import pathlib
import sys
import zlib

import PIL
import torchvision
from torchvision.transforms import InterpolationMode, autoaugment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from formula_pictures import HEIGHT, WIDTH, picture  # noqa: E402


print(f"// Made by augment_by_torchvision.py with torchvision {torchvision.__version__} and Pillow "
      f"{PIL.__version__}.")
print("#ifdef MAGNITUDES  // wide, operation, bins, bin, magnitude, whether it has a sign")
spaces = [(False, autoaugment.RandAugment()._augmentation_space, (HEIGHT, WIDTH)),
          (True, autoaugment.TrivialAugmentWide()._augmentation_space, None)]
for wide, space, size in spaces:
    for bins in (31, 10):
        table = space(bins, size) if size else space(bins)
        for name, (magnitudes, signed) in table.items():
            for b in sorted({0, 1, 4, 5, 9, 12, bins - 4, bins - 1} & set(range(bins))):
                value = magnitudes[b].item() if magnitudes.ndim else 0.0
                print(f'{{{str(wide).lower()}, "{name}", {bins}, {b}, {value!r}, '
                      f'{str(signed).lower()}}},')
print("#else  // operation, magnitude, number and channels of the picture, CRC-32 of the result")
CASES = {
    "Identity": [0], "ShearX": [0.3, -0.17, 0.99], "ShearY": [0.1, -0.99], "TranslateX": [5.9, -17.2],
    "TranslateY": [9.0, -3.5], "Rotate": [30.0, -17.0, 135.0, 90.0, 180.0, 270.0],
    "Brightness": [0.9, -0.3], "Color": [0.45, -0.99],
    "Contrast": [0.99, -0.6], "Sharpness": [0.9, -0.9], "Posterize": [2, 4, 8],
    "Solarize": [255.0, 178.5, 0.0], "AutoContrast": [0], "Equalize": [0],
}
for name, magnitudes in CASES.items():
    for magnitude in magnitudes:
        for number in (0, 1):
            for channels in (3, 1):
                out = autoaugment._apply_op(picture(number, channels), name, magnitude,
                                            InterpolationMode.NEAREST, None)
                print(f'{{"{name}", {magnitude}, {number}, {channels}, '
                      f'0x{zlib.crc32(out.tobytes()):08x}U}},')
print("#endif")
