"""Compares 2000 rows of mosaics with 2000 of Ultralytics' own loader, by Kolmogorov and Smirnov's test.

    python3 mosaic_draws.py FOLDER DATASET

FOLDER has images/ and labels/ in YOLO's form; DATASET is what `sluice convert --yolo FOLDER FOLDER DATASET --no-resize`
made of it. Needs ultralytics, scipy and Sluice, and a minute. Both loaders play Ultralytics' default mosaic, warp and
flip at 640. Prints the mean of each figure (Ultralytics', then Sluice's), the largest distance of their distributions,
and the probability of such a distance between two samples of one distribution. Of each row's boxes, one is picked at
random.
"""

import itertools
import os
import pathlib
import random
import sys
import tempfile

os.environ.update(YOLO_AUTOINSTALL="false", YOLO_OFFLINE="true", YOLO_VERBOSE="false",
                  YOLO_CONFIG_DIR=tempfile.gettempdir())

import numpy
import scipy.stats
import sluice
from ultralytics.cfg import get_cfg
from ultralytics.data.build import build_yolo_dataset

ROWS, SIDE = 2000, 640
FIGURES = ["boxes of a row", "centre, x", "centre, y", "width", "height", "area", "widest of a row"]


def theirs(folder):
    """Yields the boxes of each row: centre and size in pixels, boxes x 4."""
    random.seed(1)
    numpy.random.seed(1)
    classes = {label: str(label) for label in range(1000)}
    rows = build_yolo_dataset(get_cfg(overrides={"imgsz": SIDE}), str(pathlib.Path(folder, "images")), 16,
                              {"names": classes, "nc": len(classes), "channels": 3}, mode="train", rect=False)
    shuffled = random.Random(2)
    while True:
        for row in shuffled.sample(range(len(rows)), len(rows)):
            yield rows[row]["bboxes"].numpy() * SIDE


def ours(dataset):
    affine = sluice.RandomAffine(0, translate=(0.1, 0.1), scale=(0.5, 1.5), size=SIDE, fill=[114, 114, 114])
    steps = [sluice.Mosaic(SIDE), affine, sluice.HorizontalFlip()]
    rule = sluice.BoxRule(min_side=2, min_visible=0.1, max_aspect=100)  # Ultralytics' box_candidates()
    loader = sluice.Loader(dataset, 16, transform=steps, seed=1, output=sluice.OutputOptions(boxes=rule))
    for epoch in itertools.count():
        loader.set_epoch(epoch)
        for batch in loader:
            targets = batch.targets("ultralytics")
            row_of_box = numpy.asarray(targets["batch_idx"])
            for row in range(len(batch)):
                yield numpy.asarray(targets["bboxes"])[row_of_box == row] * SIDE


def figures(rows):
    pick = numpy.random.default_rng(3)
    found = []
    for boxes in itertools.islice(rows, ROWS):
        x, y, width, height = boxes[pick.integers(len(boxes))] if len(boxes) else [numpy.nan] * 4
        widest = boxes[:, 2].max() if len(boxes) else numpy.nan
        found.append([len(boxes), x, y, width, height, width * height, widest])
    return numpy.array(found).T


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for name, one, other in zip(FIGURES, figures(theirs(sys.argv[1])), figures(ours(sys.argv[2]))):
        one, other = one[~numpy.isnan(one)], other[~numpy.isnan(other)]
        test = scipy.stats.ks_2samp(one, other)
        print(f"{name:16}{one.mean():10.1f}{other.mean():10.1f}  distance {test.statistic:.3f}  p {test.pvalue:.2f}")
