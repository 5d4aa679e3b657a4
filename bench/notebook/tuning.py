#!/usr/bin/env python3
"""Compares the settings that the loader chooses by itself with the best of a search by hand.

    bench/notebook/tuning.py BUILD PHOTOS FOLDER            all workloads; ten minutes
    bench/notebook/tuning.py BUILD PHOTOS FOLDER --only slow-store,busy-trainer

BUILD is a release build with sluice and sluice-bench, and PHOTOS a folder of pictures. The datasets made of them stay
in FOLDER. For each workload, plays epochs with every combination of a grid of threads, batches ahead and bytes in
flight; then, alternately, the best combination and the loader's own choice. A row has the choices, the medians of
both, and their ratio.
"""
import collections
import itertools
import os
import statistics

import programs

Workload = collections.namedtuple("Workload", "name form what options grid cpus", defaults=(None,))
USUAL = {"--threads": (1, 2, 3, 4), "--prefetch": (1, 2, 4, 8)}
WORKLOADS = [
    Workload("slow-trainer", "jpeg", "a trainer of 40 ms a batch",
             ["--batch-size", "32", "--step-ms", "40", "--transform", "rrc:224,flip"], USUAL),
    Workload("busy-trainer", "jpeg", "a trainer that keeps a CPU busy for 10 ms a batch",
             ["--batch-size", "32", "--step-ms", "10", "--step-busy", "--transform", "rrc:224,flip"], USUAL),
    Workload("slow-store", "jpeg", "50 ms to the first byte, 40 MB/s",
             ["--batch-size", "32", "--store-delay", "50ms", "--store-rate", "40MB/s", "--transform", "rrc:224,flip"],
             {"--threads": (1, 2), "--prefetch": (1, 4), "--read-ahead-bytes": ("2MB", "8MB", "32MB", "128MB")}),
    Workload("small", "raw32", "raw images of 32x32 in batches of 512",
             # Long epochs: the loader needs five seconds to settle.
             ["--batch-size", "512", "--repeat", "24000", "--transform", "none"],
             {"--threads": (1, 2), "--prefetch": (4, 8)}),
    Workload("large", "raw512", "crops of 384 out of raw images of 512x512",
             ["--batch-size", "32", "--repeat", "4", "--transform", "crop:384,flip"], USUAL),
    Workload("one-cpu", "jpeg", "one CPU for decoding and training",
             ["--batch-size", "32", "--step-ms", "5", "--transform", "rrc:224,flip"], USUAL, 1),
]
FORMS = {"jpeg": [], "raw32": ["--image", "raw", "--size", "32"], "raw512": ["--image", "raw", "--size", "512"]}


def play(arguments, dataset, workload, chosen):
    """Returns images per second, and the settings that the loader ended with."""
    def fewer():
        if workload.cpus:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:workload.cpus])
    result, medians = programs.epoch(arguments, dataset, "--epochs", arguments.epochs, "--warm-up", 2,
                                     *workload.options, *chosen, preexec_fn=fewer)
    return medians["images_per_second"], result["choices"]


def words(combination):
    return [str(word) for pair in combination for word in pair]


def main():
    arguments = programs.arguments_of(__doc__, [workload.name for workload in WORKLOADS], rounds=3)
    print("| workload | by itself | images/s | best by hand | images/s | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for workload in WORKLOADS:
        if workload.name not in arguments.only:
            continue
        dataset = programs.dataset(arguments, workload.form, FORMS[workload.form])
        combinations = [tuple(zip(workload.grid, values)) for values in itertools.product(*workload.grid.values())]
        by_hand = {combination: play(arguments, dataset, workload, words(combination))[0]
                   for combination in combinations}
        best = max(by_hand, key=by_hand.get)
        # The best of many is partly luck, so it plays again, alternating with the loader's own choice.
        own_rates, hand_rates = [], []
        for _ in range(arguments.rounds):
            # With a prefetch of 0, the loader chooses.
            rate, own = play(arguments, dataset, workload, ["--prefetch", "0"])
            own_rates.append(rate)
            hand_rates.append(play(arguments, dataset, workload, words(best))[0])
        own_rate, hand_rate = statistics.median(own_rates), statistics.median(hand_rates)
        settled = f"threads {own['threads']}, prefetch {own['prefetch']}"
        if "--read-ahead-bytes" in workload.grid:
            settled += f", read-ahead {own['read_ahead_depth_bytes'] / 1e6:.0f}MB"
        hand = ", ".join(f"{name.lstrip('-')} {value}" for name, value in best)
        print(f"| {workload.what} | {settled} | {own_rate:,.0f} | {hand} | {hand_rate:,.0f} | "
              f"{own_rate / hand_rate:.3f} |", flush=True)


if __name__ == "__main__":
    main()
