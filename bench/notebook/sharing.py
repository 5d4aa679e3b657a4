#!/usr/bin/env python3
"""Compares trainings that play one dataset at the same time, with and without sharing decoded rows.

    bench/notebook/sharing.py BUILD PHOTOS FOLDER
    bench/notebook/sharing.py BUILD PHOTOS FOLDER --trainings 4 --rounds 5

BUILD is a release build with sluice and sluice-bench, and PHOTOS a folder of pictures. The datasets made of them stay
in FOLDER. In each round, --trainings processes of `sluice-bench epoch` play the same epochs at once, first each for
itself, then with --share. A row has the median over the rounds of the rate of all processes together (all images over
the time until the last process is done), and the ratio of that rate to the one without sharing. On a machine with more
CPUs than trainings, the ratio says less: there each training has CPUs of its own.
"""
import collections
import statistics
import subprocess
import time

import programs

FORMS = {"jpeg": [], "packed": ["--image", "packed"]}


def play(arguments, dataset, words):
    """Returns the seconds that all trainings together take."""
    command = [arguments.build / "bench/sluice-bench", "epoch", dataset, "--batch-size", "64", "--transform",
               "rrc:224,flip", "--epochs", arguments.epochs, "--warm-up", "0", "--quiet", *words]
    begin = time.monotonic()
    trainings = [subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
                 for _ in range(arguments.trainings)]
    if any([training.wait() for training in trainings]):
        raise SystemExit("a training failed")
    return time.monotonic() - begin


def main():
    arguments = programs.arguments_of(
        __doc__, list(FORMS), rounds=5,
        more=lambda parser: parser.add_argument("--trainings", type=int, default=4))
    print(f"| form | {arguments.trainings} trainings | images/s together | ratio |\n| --- | --- | --- | --- |")
    for name in arguments.only:
        dataset = programs.dataset(arguments, name, FORMS[name])
        result, _ = programs.epoch(arguments, dataset, "--epochs", 1)  # now the page cache has the dataset
        images = arguments.trainings * arguments.epochs * result["samples"]
        rates = collections.defaultdict(list)
        for _ in range(arguments.rounds):
            for way, words in {"each for itself": [], "sharing rows": ["--share", "256MB"]}.items():
                rates[way].append(images / play(arguments, dataset, words))
        medians = {way: statistics.median(values) for way, values in rates.items()}
        for way, rate in medians.items():
            print(f"| {name} | {way} | {rate:,.0f} | {rate / medians['each for itself']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
