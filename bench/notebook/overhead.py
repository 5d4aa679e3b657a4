"""Measures what Python adds to C++: overhead.py [--folder DIR] [--rounds N] [--json FILE] [--sluice-bench PROGRAM]

1. Handing over a batch: waits until the ring is full of batches, and loops over these. The loop does nothing else, or
   takes the batch's fields in one of the possible ways. Every figure is the time of a whole step of the loop, so it is
   an upper bound of what Python adds.
2. Whole epochs, alternating with `sluice-bench epoch` at the same settings: random crops of 224 pixels from JPEGs of
   500, and raw 32 x 32 images in batches of 512. Prints the ratio of Python's rate to C++'s in each round: the median
   and the range.

Makes its two datasets once, in --folder; their pixels come from a formula. The machine must be quiet.
"""

import argparse
import itertools
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import sluice

CASES = {
    # name: (images, height, width, stored as, batch size, transform, epochs in a run)
    "crops of 224": (1500, 375, 500, "jpeg", 256, "rrc:224,flip", 3),
    "raw 32 x 32": (50_000, 32, 32, "raw", 512, "", 40),
}


def picture(number, height, width):
    """Smooth colours with some grain, so that a JPEG of it is as large as a photo's."""
    random = numpy.random.default_rng(number)
    coarse = random.integers(0, 256, (height // 32 + 2, width // 32 + 2, 3)).astype(numpy.float32)
    y, x = numpy.arange(height) / 32, numpy.arange(width) / 32
    iy, ix = y.astype(int), x.astype(int)
    fy, fx = (y - iy)[:, None, None], (x - ix)[None, :, None]
    smooth = ((coarse[iy][:, ix] * (1 - fx) + coarse[iy][:, ix + 1] * fx) * (1 - fy)
              + (coarse[iy + 1][:, ix] * (1 - fx) + coarse[iy + 1][:, ix + 1] * fx) * fy)
    return (smooth + random.normal(0, 6, smooth.shape)).clip(0, 255).astype(numpy.uint8)


def dataset(folder, case):
    images, height, width, form, *_ = CASES[case]
    made = folder / case.replace(" ", "-")
    if not (made / "manifest.json").exists():
        if made.exists():
            raise SystemExit(f"{made}: holds no dataset, perhaps half of one; remove it")
        fields = [sluice.Field.image(), sluice.Field.label("label", [str(n) for n in range(10)])]
        with sluice.Writer(made, fields, image=form) as writer:
            writer.add_all((str(n), {"image": picture(n % 500, height, width), "label": n % 10})
                           for n in range(images))
    return made


def hand_over(data, steps=20_000, ready=1000):
    """Returns microseconds per step, for each way to take a batch's fields."""
    def nothing(batch):
        pass

    def arrays(batch):
        batch["image"], batch["label"]

    def as_numpy(batch):
        batch["image"].numpy(), batch["label"].numpy()

    ways = {"the batch alone": nothing, "batch['image'], batch['label']": arrays, "... .numpy()": as_numpy,
            "batch.numpy()": lambda batch: batch.numpy()}
    try:
        import torch

        ways["torch.from_dlpack(batch['image'])"] = lambda batch: torch.from_dlpack(batch["image"])
        ways["batch.torch()"] = lambda batch: batch.torch()
    except ImportError:
        pass
    measured = {}
    for name, take in ways.items():
        loader = sluice.Loader(data, 16, threads=1, order=sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL),
                               ring=sluice.RingOptions(prefetch=ready))
        best = float("inf")
        for _ in range(steps // ready):
            batches = iter(loader)
            next(batches)
            time.sleep(0.2)  # the ring fills
            begun = time.perf_counter_ns()
            for batch in itertools.islice(batches, ready):
                take(batch)
            best = min(best, (time.perf_counter_ns() - begun) / ready / 1000)
        measured[name] = best
    return measured


def epochs_in_python(data, batch_size, transform, epochs, threads):
    """Returns images per second of the median epoch; the first epoch is not counted."""
    loader = sluice.Loader(data, batch_size, threads=threads, transform=transform or ())
    rates = []
    for _ in range(epochs + 1):
        begun, images = time.perf_counter(), 0
        for batch in loader:
            tensor = batch["image"].numpy()
            images += len(tensor)
        rates.append(images / (time.perf_counter() - begun))
        del batch, tensor
    return statistics.median(rates[1:])


def epochs_in_cpp(program, data, batch_size, transform, epochs, threads):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        subprocess.run([program, "epoch", data, "--batch-size", str(batch_size), "--transform", transform or "none",
                        "--epochs", str(epochs), "--threads", str(threads), "--json-file", result.name],
                       check=True, stdout=subprocess.DEVNULL)
        return json.load(open(result.name))["median_images_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/sluice-overhead"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--sluice-bench", default=shutil.which("sluice-bench"))
    options = parser.parse_args()
    if options.sluice_bench is None:
        sys.exit("overhead.py: no sluice-bench on the path; give it with --sluice-bench")
    options.folder.mkdir(parents=True, exist_ok=True)

    result = {"hand_over_us": hand_over(dataset(options.folder, "raw 32 x 32")), "epochs": {}}
    print("A step of the loop, in microseconds:")
    for name, microseconds in result["hand_over_us"].items():
        print(f"  {name:36} {microseconds:6.2f}")
    for case, (_, _, _, _, batch_size, transform, epochs) in CASES.items():
        settings = (dataset(options.folder, case), batch_size, transform, epochs, options.threads)
        rounds = []
        for turn in range(options.rounds):
            pair = {}
            for one in ("python", "cpp") if turn % 2 else ("cpp", "python"):
                pair[one] = (epochs_in_python(*settings) if one == "python"
                             else epochs_in_cpp(options.sluice_bench, *settings))
            rounds.append(pair)
        ratios = sorted(pair["python"] / pair["cpp"] for pair in rounds)
        result["epochs"][case] = {"rounds": rounds, "ratio": statistics.median(ratios)}
        rate = statistics.median(pair["python"] for pair in rounds)
        print(f"{case}: {rate:,.0f} images/s from Python, {statistics.median(ratios):.3f} of C++ "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f} in {options.rounds} rounds)")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
