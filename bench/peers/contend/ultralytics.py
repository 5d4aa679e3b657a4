"""Ultralytics' own training loader: YOLODataset and its DataLoader, with the defaults that train its detectors."""

import contextlib
import os
import pathlib
import random
import sys
import tempfile

# It would otherwise install packages, ask the network for updates, and keep settings in the home folder.
os.environ.setdefault("YOLO_AUTOINSTALL", "false")
os.environ.setdefault("YOLO_OFFLINE", "true")
os.environ.setdefault("YOLO_VERBOSE", "false")
os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.gettempdir())

with contextlib.redirect_stdout(sys.stderr):  # standard output is for contend.py's lines
    import cv2
    import torch
    import ultralytics
    from ultralytics.cfg import get_cfg
    from ultralytics.data.build import build_dataloader, build_yolo_dataset

CLASSES = 80
RECIPES = {"mosaic": "with 1 to 8 made-up boxes a picture; partners from a buffer of recent pictures, resized without "
                     "antialiasing; HSV with 180 hues"}


def describe():
    return (f"ultralytics {ultralytics.__version__}, OpenCV {cv2.__version__}, torch {torch.__version__}: files, its "
            "defaults (cache=False, no Albumentations), DataLoader with persistent workers")


def pack(items, folder, threads):
    """Links the pictures, and writes labels beside them as Ultralytics wants them."""
    root = pathlib.Path(folder)
    for name in ("images", "labels"):
        (root / name).mkdir()
    draw = random.Random(0)
    for index, (number, path) in enumerate(items):
        stem = f"{index}_{number}"
        (root / "images" / f"{stem}.jpg").symlink_to(path)
        boxes = []
        for _ in range(draw.randint(1, 8)):
            width, height = draw.uniform(0.05, 0.5), draw.uniform(0.05, 0.5)
            x, y = draw.uniform(width / 2, 1 - width / 2), draw.uniform(height / 2, 1 - height / 2)
            boxes.append(f"{draw.randrange(CLASSES)} {x:.6f} {y:.6f} {width:.6f} {height:.6f}\n")
        (root / "labels" / f"{stem}.txt").write_text("".join(boxes), encoding="utf-8")


def epochs(items, folder, threads, batch, size, recipe):
    classes = {"names": {label: str(label) for label in range(CLASSES)}, "nc": CLASSES, "channels": 3}
    with contextlib.redirect_stdout(sys.stderr):
        settings = get_cfg(overrides={"imgsz": size, "batch": batch, "workers": threads})
        dataset = build_yolo_dataset(settings, str(pathlib.Path(folder) / "images"), batch, classes)
        loader = build_dataloader(dataset, batch, threads)

    def epoch():
        for rows in loader:
            yield rows["img"], [int(pathlib.Path(name).stem.split("_")[1]) for name in rows["im_file"]]

    while True:
        yield epoch()
