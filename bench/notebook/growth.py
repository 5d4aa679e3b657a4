#!/usr/bin/env python3
"""Shows how the cost of an epoch grows with the samples and the shards of a dataset.

    bench/notebook/growth.py BUILD FOLDER            10,000 and 100,000 samples: a minute
    bench/notebook/growth.py BUILD FOLDER --long     and 1,000,000: 4 GB in FOLDER, made once

BUILD is a release build with sluice and sluice-bench. For raw images of 32x32 pixels and for JPEGs of
the same, it makes datasets of each number of samples in about 1, 50 and 1000 shards (as many as shards of
1 to 128 MB allow), plays epochs of each, and prints a table for bench/MEASURED.md. If the cost of an image
does not depend on the dataset's size, neither column of a form changes from row to row, until the images
no longer fit the CPU's caches.
"""
import argparse
import io
import json
import pathlib
import random
import subprocess
import sys
import tarfile

SIDE = 32
PICTURES = 1024  # different ones
SHARDS = (1, 50, 1000)
SHARD_BYTES = (1_000_000, 128_000_000)


def pictures():
    """BMP files: slopes of colour with some noise."""
    noise = random.Random(1)
    head = b"BM" + (54 + 3 * SIDE * SIDE).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    head += (40).to_bytes(4, "little") + SIDE.to_bytes(4, "little") * 2
    head += b"\1\0\x18\0" + bytes(24)
    for _ in range(PICTURES):
        slope = [noise.randrange(-3, 4) for _ in range(6)]
        pixels = bytes((128 + slope[c] * x + slope[c + 3] * y + noise.randrange(-6, 7)) & 255
                       for y in range(SIDE) for x in range(SIDE) for c in range(3))
        yield head + pixels


def make(build, folder, form, samples, shards, files):
    """The dataset, made if it is not there. Returns its folder and its number of shards."""
    dataset = folder / f"{form}-{samples}-{shards}"
    if not (dataset / "manifest.json").exists():
        archive = folder / f"{samples}.tar"
        if not archive.exists():
            part = folder / f"{samples}.tar.part"
            with tarfile.open(part, "w") as tar:
                for i in range(samples):
                    entry = tarfile.TarInfo(f"{i % 10}/{i:07d}.bmp")
                    entry.size = len(files[i % PICTURES])
                    tar.addfile(entry, io.BytesIO(files[i % PICTURES]))
            part.rename(archive)
        image_bytes = 3 * SIDE * SIDE if form == "raw" else 1100
        shard = min(max(samples * (image_bytes + 256) // shards, SHARD_BYTES[0]), SHARD_BYTES[1])
        subprocess.run([build / "tools/sluice", "convert", archive, dataset, "--image", form, "--no-resize",
                        "--shard-size", str(shard), "--quiet"], check=True, stdout=sys.stderr)
    return dataset, len(json.loads((dataset / "manifest.json").read_text())["shards"])


def play(build, dataset, threads, epochs):
    """Medians: images a second, and CPU time of an image in microseconds."""
    run = subprocess.run([build / "bench/sluice-bench", "epoch", dataset, "--transform", "none", "--batch-size",
                          "512", "--threads", str(threads), "--epochs", str(epochs), "--json"],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    measured = {m["name"]: m["median"] for m in json.loads(run.stdout)["measurements"]}
    return measured["images_per_second"], 1000 * measured["cpu_seconds_per_1000"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--long", action="store_true", help="also 1,000,000 samples")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    files = list(pictures())
    print("| form | samples | shards | images/s | CPU us an image |\n| --- | --- | --- | --- | --- |")
    for form in ("raw", "jpeg"):
        for samples in (10_000, 100_000) + ((1_000_000,) if arguments.long else ()):
            played = set()
            for shards in SHARDS:
                dataset, count = make(arguments.build, arguments.folder, form, samples, shards, files)
                if count in played:
                    continue
                played.add(count)
                epochs = max(arguments.epochs, 200_000 // samples)  # short ones differ more
                rate, cpu = play(arguments.build, dataset, arguments.threads, epochs)
                print(f"| {form} | {samples:,} | {count} | {rate:,.0f} | {cpu:.3f} |", flush=True)


if __name__ == "__main__":
    main()
