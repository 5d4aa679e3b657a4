#!/usr/bin/env python3
"""Tests that what every command writes can be read from FORMAT.md alone.

Run as: read_every_command.py SLUICE MAKE_PHOTOS [EMULATOR...], where EMULATOR is the command that runs programs of
another processor.

Reads each dataset with read_from_spec.py, which has none of the project's code, and compares the number of its samples.
"""
import pathlib
import subprocess
import sys
import tempfile

import read_from_spec

SLUICE, MAKE_PHOTOS, *EMULATOR = sys.argv[1:]


def run(*words, program=SLUICE, codes=(0,)):
    done = subprocess.run([*EMULATOR, program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    assert done.returncode in codes, (words, done.returncode, done.stdout)


def lines_of(dataset):
    lines = []
    read_from_spec.print_samples(dataset, lines.append)
    return lines


def check(dataset, samples):
    """Returns the lines of the dataset's keys."""
    try:
        lines = lines_of(dataset)
    except Exception as error:
        raise AssertionError(f"{dataset.name} cannot be read") from error
    keys = [line for line in lines if line.startswith("  key ")]
    assert len(keys) == samples, (dataset.name, len(keys), samples)
    return sorted(keys)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(folder / "photos", 3, 20, 96, program=MAKE_PHOTOS)
    run(folder / "more", 3, 2, 64, program=MAKE_PHOTOS)
    photos = sorted((folder / "photos").rglob("*.jpg"))
    assert len(photos) == 60
    few = ("--block-samples", 8, "--shard-bytes", "1MB")

    one = folder / "convert"
    run("convert", folder / "photos", one, *few, "--meta", "license=CC0")
    keys = check(one, 60)

    parts = folder / "parts"
    run("plan", folder / "photos", parts, *few)
    for part in ("1/2", "0/2"):
        run("convert", "--part", part, parts)
    run("finish", parts)
    assert check(parts, 60) == keys

    # Fields of many kinds: texts, numbers, boxes, classes of boxes, JSON, another field of classes.
    rows = ["path,caption,weight,bbox,category,extra,tags"]
    for number, photo in enumerate(photos):
        rows.append(f'{photo.relative_to(folder / "photos")},{"" if number == 3 else f"number {number}"},{number / 8},'
                    f'"1 2 {3 + number % 9} 4","{"ant" if number % 2 else "bee"}","{{""n"": {number}}}","a,b"')
    (folder / "photos/table.csv").write_text("\n".join(rows) + "\n")
    table = folder / "table"
    fields = ("caption=text", "weight=float", "bbox=boxes:xywh", "category=box_classes", "extra=json", "tags=classes")
    run("convert", "--table", folder / "photos/table.csv", table, *few, "--image", "packed",
        *(word for field in fields for word in ("--field", field)))
    check(table, 60)

    run("subset", table, folder / "subset", "--count", 25, "--seed", 3)
    check(folder / "subset", 25)
    run("merge", folder / "subset", table, folder / "merge", "--duplicates", "drop")
    assert check(folder / "merge", 60) == keys
    for form in ("raw", "jpeg", "packed"):
        run("transcode", table, folder / form, "--image", form)
        assert check(folder / form, 60) == keys
    run("copy", folder / "raw", folder / "copy")
    assert lines_of(folder / "copy") == lines_of(folder / "raw")
    run("append", folder / "more", one)
    appended = check(one, 66)
    run("append", "--repack", one)
    assert check(one, 66) == appended

    # `repair` saves the samples of a damaged dataset that can be read, and rebuilds a lost manifest.
    shard = sorted((folder / "raw").glob("shard-*.sluice"))[0]
    content = shard.read_bytes()
    shard.write_bytes(content[:len(content) // 2] + bytes(4096) + content[len(content) // 2 + 4096:])
    run("repair", folder / "raw", folder / "repair", codes=(0, 3))
    saved = read_from_spec.read_manifest(folder / "repair")["samples"]
    assert 0 < saved < 60
    assert set(check(folder / "repair", saved)) <= set(keys)
    (folder / "jpeg/manifest.json").unlink()
    run("repair", folder / "jpeg")
    assert check(folder / "jpeg", 60) == keys
