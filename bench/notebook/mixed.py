#!/usr/bin/env python3
"""Sets mixtures of datasets, and batches of images that differ in size, beside plain epochs of the same pictures.

    bench/notebook/mixed.py BUILD PHOTOS FOLDER
    bench/notebook/mixed.py BUILD PHOTOS FOLDER --only raw64

BUILD is a release build with sluice and sluice-bench, PHOTOS a folder of pictures, FOLDER where the datasets made
of them stay: each form whole, and dealt to several datasets. The programs of a form play in turns; a row says the
median of their rates and its ratio to the plain one's. A mixture's datasets have the plain one's pictures, and its
epochs as many of them. Where a form's images differ in size, the plain program is the one of own sizes: it decodes
what the padded one does. Where they do not, own and padded do the same work as plain, and show what they cost.
(Raw images of one size are copied by a loop of their own, which those of their own sizes do not use.)
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys

PARTS = 16
Form = collections.namedtuple("Form", "convert options differ times")  # times: epochs for one of the others
FORMS = {
    "raw64": Form(["--image", "raw", "--size", "64"], ["--batch-size", "256"], False, 100),
    "jpeg256": Form(["--size", "256"], ["--batch-size", "64", "--transform", "flip"], False, 1),
    "jpeg": Form([], ["--batch-size", "64", "--transform", "rrc:224,flip"], None, 1),
    "own": Form([], ["--batch-size", "64", "--transform", "short:224,flip"], True, 1),
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def make(build, photos, folder, name, form):
    """The whole dataset, and the same samples dealt to PARTS datasets."""
    whole = folder / name
    sluice = build / "tools/sluice"
    if not (whole / "manifest.json").exists():
        done = subprocess.run([sluice, "convert", photos, whole, "--quiet"] + form.convert, stdout=sys.stderr)
        if done.returncode not in (0, 3):  # 3: without sources that are broken
            sys.exit(f"{name}: the conversion failed")
    parts = [folder / f"{name}-{part}" for part in range(PARTS)]
    samples = json.loads((whole / "manifest.json").read_text())["samples"]
    for number, part in enumerate(parts):
        if not (part / "manifest.json").exists():
            first, end = (samples * at // PARTS for at in (number, number + 1))
            numbers = folder / "numbers.txt"
            numbers.write_text("".join(f"{sample}\n" for sample in range(first, end)))
            run(sluice, "subset", whole, part, "--ids", numbers, "--quiet")
    return whole, parts


def programs(form, whole, parts):
    """By name: what sluice-bench epoch is given. The first is the plain one."""
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


def play(build, words, options, epochs):
    """Images a second, and CPU seconds for 1000 of them."""
    done = subprocess.run([str(word) for word in [build / "bench/sluice-bench", "epoch"] + words + options] +
                          ["--epochs", str(epochs), "--warm-up", "1", "--json"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    medians = {m["name"]: m["median"] for m in json.loads(done.stdout)["measurements"]}
    return medians["images_per_second"], medians["cpu_seconds_per_1000"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", help="names of forms, joined by commas: " + ", ".join(FORMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", default="2")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    only = arguments.only.split(",") if arguments.only else list(FORMS)
    if set(only) - set(FORMS):
        parser.error("no such form: " + ", ".join(sorted(set(only) - set(FORMS))))

    print("| form | batches | images/s | of plain | CPU of plain |\n| --- | --- | --- | --- | --- |")
    for name in only:
        form = FORMS[name]
        whole, parts = make(arguments.build, arguments.photos, arguments.folder, name, form)
        all_programs = programs(form, whole, parts)
        figures = collections.defaultdict(list)
        for _ in range(arguments.rounds):
            for program, words in all_programs.items():
                figures[program].append(play(arguments.build, words,
                                             form.options + ["--threads", arguments.threads],
                                             form.times * arguments.epochs))
        medians = {program: [statistics.median(column) for column in zip(*rows)] for program, rows in figures.items()}
        plain = next(iter(medians.values()))
        for program, (rate, cpu) in medians.items():
            print(f"| {name} | {program} | {rate:,.0f} | {rate / plain[0]:.3f} | {cpu / plain[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
