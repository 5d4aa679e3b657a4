#!/usr/bin/env python3
"""Prints hsv_by_opencv.inc: colours changed by way of OpenCV's 8-bit HSV, with tables for its channels.

    pip install opencv-python-headless numpy; tests/pixels/hsv_by_opencv.py > tests/pixels/hsv_by_opencv.inc
"""
import cv2
import numpy

draws = numpy.random.default_rng(3)
print(f"// Made by hsv_by_opencv.py with OpenCV {cv2.__version__}: turns, factors of saturation and value, the")
print("// colour before and after.")
for turns, saturation, value in ((0, 1, 1), (0.015, 1.7, 1.4), (-0.015, 0.3, 0.6), (0.31, 1.2, 0.9), (-0.5, 1, 1.3),
                                 (0.1, 2, 2)):
    colours = draws.integers(0, 256, (1, 24, 3), numpy.uint8)
    hue, of_saturation, of_value = cv2.split(cv2.cvtColor(colours, cv2.COLOR_RGB2HSV).astype(numpy.float64))
    changed = cv2.merge((
        ((hue + turns * 180) % 180).astype(numpy.uint8),
        numpy.minimum(of_saturation * saturation, 255).astype(numpy.uint8),
        numpy.minimum(of_value * value, 255).astype(numpy.uint8)))
    after = cv2.cvtColor(changed, cv2.COLOR_HSV2RGB)
    for old, new in zip(colours[0], after[0]):
        print(f"{{{turns}, {saturation}, {value}, {{{', '.join(map(str, old))}}}, {{{', '.join(map(str, new))}}}}},")
