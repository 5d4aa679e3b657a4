#!/usr/bin/env python3
"""Compares mixtures of datasets, and batches of images of different sizes, with plain epochs of the same pictures.

    bench/notebook/mixed.py BUILD PHOTOS FOLDER
    bench/notebook/mixed.py BUILD PHOTOS FOLDER --only raw64

BUILD is a release build with sluice and sluice-bench, and PHOTOS a folder of pictures. The datasets made of them stay
in FOLDER. For each form, one dataset has all pictures, and each of PARTS others has a range of them. The programs of a
form play one after another in each round; a row has the median of a program's rates and its ratio to that of the form's
first program.

A mixture's datasets together have the pictures of the whole dataset, so its epochs are as long. The first program is
"plain" if the images of a batch have the same size. In the form "mixed" they do not: there the first program is "own
sizes" (--image-sizes own), and "padded" decodes the same pixels. In "raw64" and "jpeg256", "own sizes" and "padded"
deliver the same pixels as "plain", and show what these modes cost. (A special loop copies raw images of one size; with
"own sizes" or "padded" it is not used.)
"""
import collections
import json
import statistics
import subprocess

import programs

PARTS = 16
# differ: whether the batches hold images of different sizes; None leaves out the programs "own sizes" and "padded".
# times: by what --epochs is multiplied for this form, because its epochs are short.
Form = collections.namedtuple("Form", "convert options differ times")
FORMS = {
    "raw64": Form(["--image", "raw", "--size", "64"], ["--batch-size", "256"], False, 100),
    "jpeg256": Form(["--size", "256"], ["--batch-size", "64", "--transform", "flip"], False, 1),
    "jpeg": Form([], ["--batch-size", "64", "--transform", "rrc:224,flip"], None, 1),
    "mixed": Form([], ["--batch-size", "64", "--transform", "short:224,flip"], True, 1),
}


def make(arguments, name, form):
    """Makes the whole dataset, and PARTS datasets of its samples: each has one range of them."""
    whole, folder = programs.dataset(arguments, name, form.convert), arguments.folder
    parts = [folder / f"{name}-{part}" for part in range(PARTS)]
    samples = json.loads((whole / "manifest.json").read_text())["samples"]
    for number, part in enumerate(parts):
        if not (part / "manifest.json").exists():
            first, end = (samples * at // PARTS for at in (number, number + 1))
            numbers = folder / "numbers.txt"
            numbers.write_text("".join(f"{sample}\n" for sample in range(first, end)))
            subprocess.run([arguments.build / "tools/sluice", "subset", whole, part, "--samples", numbers, "--quiet"],
                           check=True, stdout=subprocess.DEVNULL)
    return whole, parts


def played(form, whole, parts):
    """{program: arguments of sluice-bench epoch}. The others are compared with the first program."""
    with_all = [word for part in parts[1:] for word in ("--with", part)]
    equal = [] if form.differ is not True else ["--image-sizes", "own"]
    made = {"plain" if not equal else "own sizes": [whole] + equal,
            f"{PARTS} datasets, every sample once": [parts[0]] + with_all + equal,
            f"{PARTS} datasets by weight": [parts[0]] + with_all + equal + ["--weights", ",".join(["1"] * PARTS)]}
    if form.differ is False:
        made["own sizes"] = [whole, "--image-sizes", "own"]
    if form.differ is not None:
        made["padded"] = [whole, "--image-sizes", "padded"]
    return made


def play(arguments, words, form):
    """Returns images per second, and CPU seconds per 1000 images."""
    _, medians = programs.epoch(arguments, *words, *form.options, "--threads", arguments.threads, "--epochs",
                                form.times * arguments.epochs, "--warm-up", 1)
    return medians["images_per_second"], medians["cpu_seconds_per_1000"]


def main():
    arguments = programs.arguments_of(__doc__, list(FORMS), rounds=5,
                                      more=lambda parser: parser.add_argument("--threads", default="2"))
    print("| form | batches | images/s | of the first | CPU, of the first |\n| --- | --- | --- | --- | --- |")
    for name in arguments.only:
        form = FORMS[name]
        whole, parts = make(arguments, name, form)
        figures = collections.defaultdict(list)
        for _ in range(arguments.rounds):
            for program, words in played(form, whole, parts).items():
                figures[program].append(play(arguments, words, form))
        medians = {program: [statistics.median(column) for column in zip(*rows)] for program, rows in figures.items()}
        base = next(iter(medians.values()))
        for program, (rate, cpu) in medians.items():
            print(f"| {name} | {program} | {rate:,.0f} | {rate / base[0]:.3f} | {cpu / base[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
