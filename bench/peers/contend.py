"""Plays one loader for `sluice-bench compare`, which runs this script in a process of its own.

    contend.py LOADER pack   LIST FOLDER THREADS
    contend.py LOADER play   LIST FOLDER THREADS BATCH SIZE SECONDS [RECIPE]
    contend.py LOADER decode LIST FOLDER SIZE FILE

LIST has a line "number<TAB>path" for each JPEG of an epoch; lines with the same number are the same picture.
`pack` writes the loader's own format into FOLDER. `play` loads epochs of random-resized-crop to SIZE and flip, in
batches of BATCH, or with the steps of RECIPE: first one that is not counted, then others for at least SECONDS. `decode` writes the whole pictures,
stretched to SIZE x SIZE, to FILE: RGB bytes, in the list's order. (Loaders of raw images get PPM files; their `play`
and `decode` deliver the middle SIZE x SIZE pixels of each picture.) Each action reports on standard output, one JSON
object per line.

A loader is a module in contend/ with these functions: `describe()` returns a text; `epochs(items, folder, threads,
batch, size)` an iterator over epochs, each of which is an iterator over (images, numbers); `decode(items, folder,
size)` an array. A module may also have `missing()`, which returns why the loader cannot run on this machine, or None;
and `pack(items, folder, threads)`, if the loader has a format of its own. `RECIPES` has the recipes that the loader can
play, and how its steps differ from Sluice's; `epochs()` then takes the name of one as a further argument. `images` is a
list if a recipe has several views.
"""

import importlib
import json
import os
import sys
import time

import numpy


def say(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def items_of(path):
    with open(path, encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t", 1) for line in lines)
        return [(int(number), name) for number, name in pairs]


def play(epochs, seconds):
    begun = None
    counted = []
    for number, epoch in enumerate(epochs):
        images = 0
        start = time.perf_counter()
        if number == 1:
            begun = start
            say(event="begin")
        for pixels, numbers in epoch:
            if number == 0 and images == 0:
                views = pixels if isinstance(pixels, (list, tuple)) else [pixels]
                say(event="first", shapes=[list(view.shape) for view in views])
            images += len(numbers)
            if number == 1:
                counted.append(numpy.array(numbers))  # a copy, because loaders reuse their memory
        now = time.perf_counter()
        if number > 0:
            say(event="epoch", images=images, seconds=now - start)
            if now - begun >= seconds:
                break
    say(event="end", distinct=len(numpy.unique(numpy.concatenate(counted))))


def main():
    name, action, items, folder = sys.argv[1:5]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    items = items_of(items)
    loader = importlib.import_module("contend." + name)
    rest = sys.argv[5:]
    missing = loader.missing() if hasattr(loader, "missing") else None
    if missing:
        say(event="missing", why=missing)
    elif action == "pack":
        start = time.perf_counter()
        loader.pack(items, folder, int(rest[0]))
        say(event="packed", seconds=time.perf_counter() - start)
    elif action == "play":
        recipe = rest[4] if len(rest) > 4 else ""
        settings = [int(number) for number in rest[:3]] + [recipe] * bool(recipe)
        if recipe and recipe not in getattr(loader, "RECIPES", {}):
            say(event="missing", why=f"it has not all steps of the recipe {recipe}")
        else:
            differences = loader.RECIPES[recipe] if recipe else ""
            say(event="about", text=loader.describe() + (differences and f"; recipe: {differences}"))
            play(loader.epochs(items, folder, *settings), float(rest[3]))
    elif action == "decode":
        pixels = loader.decode(items, folder, int(rest[0]))
        with open(rest[1], "wb") as file:
            file.write(memoryview(pixels.astype("uint8").tobytes()))
        say(event="decoded", images=len(pixels))
    sys.stdout.flush()
    os._exit(0)  # the threads of some loaders never end by themselves


if __name__ == "__main__":
    main()
