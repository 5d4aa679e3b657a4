"""Parquet from Hugging Face's datasets: images, classes, texts, numbers and boxes equal those that datasets reads."""

import importers

importers.need("datasets", "PIL")

import io
import json
import os

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import datasets
import numpy
from PIL import Image

KEEP = ["--quality", "keep", "--no-resize"]


def decoded(content):
    return numpy.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def rows_of(place, begin, end):
    for i in range(begin, end):
        path, label = place.files[i]
        yield {
            "image": {"bytes": path.read_bytes(), "path": f"{i}.jpg"}, "label": label, "caption": None if i % 5 == 3 else f"a “picture”,\nnumber {i}",
            "serial": 10 ** 12 + i, "weight": i / 8, "kept": i % 2 == 0,
            "objects": {"bbox": [[1.0 + k, 2.0, 8.0, 9.0 + k] for k in range(i % 3)],
                        "category": [k % 2 for k in range(i % 3)]},
        }


with importers.Workplace() as place:
    features = datasets.Features({
        "image": datasets.Image(), "label": datasets.ClassLabel(names=place.classes), "caption": datasets.Value("string"),
        "serial": datasets.Value("int64"), "weight": datasets.Value("float32"), "kept": datasets.Value("bool"),
        "objects": {"bbox": datasets.List(datasets.List(datasets.Value("float32"), length=4)),
                    "category": datasets.List(datasets.ClassLabel(names=["car", "tram"]))},
    })
    half = len(place.files) // 2
    parts, files = [], []
    for k, (begin, end) in enumerate([(0, half), (half, len(place.files))]):
        part = datasets.Dataset.from_generator(rows_of, features=features, cache_dir=str(place.folder / "cache"),
                                               gen_kwargs={"place": place, "begin": begin, "end": end})
        files.append(place.folder / f"train-{k:05}-of-00002.parquet")
        # push_to_hub() also writes such files. The second file has small groups of rows.
        part.to_parquet(str(files[-1]), batch_size=3 if k else None)
        parts.append(part)
    whole = datasets.concatenate_datasets([
        datasets.Dataset.from_parquet(str(file), cache_dir=str(place.folder / "cache2")) for file in files])
    raw = whole.cast_column("image", datasets.Image(decode=False))
    rows = place.convert(files, *KEEP, "--field", "label=class", "--field", "caption=text", "--field", "serial=int",
                         "--field", "weight=float", "--field", "kept=int", "--field", "objects.bbox=boxes:xywh",
                         "--field", "objects.category=box_classes")
    usual = place.convert(files, *KEEP, name="usual")  # all fields, without naming columns
    importers.check("samples", [len(rows), len(usual)], [len(whole)] * 2)
    names = whole.features["label"].names
    kinds = whole.features["objects"]["category"].feature.names
    for i, (row, usual_row, sample) in enumerate(zip(rows, usual, raw)):
        importers.check_pixels(f"image {i}", decoded, row["image"], sample["image"]["bytes"])
        importers.check(f"file {i}", usual_row["image"], row["image"])
        boxes = sample["objects"]["bbox"]
        expected = {
            "key": sample["image"]["path"], "label": names[sample["label"]], "caption": sample["caption"] or "",
            "serial": str(sample["serial"]), "weight": str(sample["weight"]), "kept": str(int(sample["kept"])),
        }
        importers.check(f"sample {i}", {name: row[name] for name in expected}, expected)
        importers.check(f"sample {i}", {name: usual_row[name] for name in expected}, expected)
        importers.check(f"boxes {i}", json.loads(row["objects.bbox"]), [[x, y, x + w, y + h] for x, y, w, h in boxes])
        importers.check(f"kinds {i}", row["objects.category"].replace("[]", ""),
                        "|".join(kinds[kind] for kind in sample["objects"]["category"]))
