"""FFCV's DatasetWriter over image files, for `sluice-bench convert`, which runs this script in a process of its own.

    convert_ffcv.py LIST FILE WORKERS MAX_SIDE QUALITY

LIST has the path of an image in each line; MAX_SIDE 0 keeps sizes. Writes FILE, and reports on standard output, one
JSON object per line in contend.py's form: that it begins (all imports are done by then), how many images it wrote in
how many seconds, and that it has ended.
"""

import importlib.metadata as metadata
import json
import sys
import time

from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter
from PIL import Image


class Files:
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            return image.convert("RGB"), index


def say(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main():
    names, file, workers, max_side, quality = sys.argv[1:6]
    with open(names, encoding="utf-8", errors="surrogateescape") as lines:
        paths = [line.rstrip("\n") for line in lines]
    size = {"max_resolution": int(max_side)} if int(max_side) > 0 else {}
    image = RGBImageField(write_mode="jpg", jpeg_quality=int(quality), **size)
    say(event="about", text=f"FFCV {metadata.version('ffcv')} DatasetWriter, JPEG {quality}")
    say(event="begin")
    start = time.perf_counter()
    DatasetWriter(file, {"image": image, "number": IntField()},
                  num_workers=int(workers)).from_indexed_dataset(Files(paths))
    say(event="epoch", images=len(paths), seconds=time.perf_counter() - start)
    say(event="end", distinct=len(paths))


if __name__ == "__main__":
    main()
