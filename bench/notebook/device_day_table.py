"""Prints the results of bench/notebook/device_day.sh as Markdown, for bench/MEASURED.md.

    python3 device_day_table.py OUT... [--price PER_HOUR] [--plot FILE.svg]

Each OUT is a folder that `device_day.sh run` filled, or its OUT.tar.gz; the run may have ended early. If several have
the same part, the last one that succeeded counts. --price: the price of an hour of the machine, in any currency; the
table then shows what trainings cost. --plot draws the seconds of an epoch and, with a price, their cost.
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import sys
import tarfile
import tempfile


class Found:
    """For each part, by its name: its exit code (or why it has none), its measurements (JSON) and its output."""

    def __init__(self, folders):
        self.code, self.json, self.log = {}, {}, {}
        for folder in folders:
            if folder.is_dir():
                self.read(folder)
                continue
            with tempfile.TemporaryDirectory() as unpacked, tarfile.open(folder) as archive:
                # The tarfile of Debian 12's Python (3.11.2) has no filters for extraction.
                safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(unpacked, **safely)
                self.read(pathlib.Path(unpacked))

    def read(self, folder):
        codes = {}
        summary = folder / "summary.tsv"
        for line in summary.read_text().splitlines() if summary.exists() else []:
            fields = line.split("\t")
            if len(fields) == 3:  # the last line may have been cut off
                codes[fields[0]] = fields[1]
        for log in sorted((folder / "parts").glob("*.log")):
            codes.setdefault(log.stem, "cut off")
        for name, code in codes.items():
            if self.code.get(name) == "0" and code != "0":
                continue
            self.code[name] = code
            self.json.pop(name, None)
            self.log.pop(name, None)
            log, result = folder / "parts" / f"{name}.log", folder / "parts" / f"{name}.json"
            if log.exists():
                self.log[name] = log.read_text(errors="replace")
            try:
                self.json[name] = json.loads(result.read_text())
            except (OSError, ValueError):
                pass  # it measured nothing, or was cut off

    def median(self, part, measurement):
        for found in self.json.get(part, {}).get("measurements", []):
            if found["name"] == measurement and found["values"]:
                return statistics.median(found["values"])
        return None

    def medians_of_rounds(self, prefix, measurement):
        found = [self.median(f"{prefix}_{round}", measurement) for round in (1, 2, 3)]
        found = [value for value in found if value is not None]
        return statistics.median(found) if found else None


def number(value, form="{:,.0f}"):
    return "" if value is None else form.format(value)


def table(title, head, rows):
    rows = [row for row in rows if any(cell != "" for cell in row[1:])]
    if not rows:
        return
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def card_of(found):
    log = found.log.get("card", "")
    name = re.search(r"Product Name\s*: (.*)", log)
    driver = re.search(r"Driver Version\s*: (.*)", log)
    machine = next((result["machine"] for result in found.json.values() if "machine" in result), {})
    return ", ".join(filter(None, [
        name and name.group(1), driver and "driver " + driver.group(1),
        machine.get("cpu") and f"{machine['cpu']} ({machine['cpus']} CPUs)"]))


def state(found):
    names = {"0": "passed", "124": "took too long", "137": "was killed"}
    table("Is it right", ["part", "result"],
          [[name, names.get(found.code[name], found.code[name])] for name in
           ("cuda_tests", "same_bytes_jpeg", "same_bytes_packed", "same_bytes_raw", "memcheck", "racecheck", "initcheck", "synccheck") if name in found.code])
    others = [f"{name} ({code})" for name, code in found.code.items() if code != "0"]
    if others:
        print("\nFailed, skipped or cut off: " + "; ".join(others) + ".")


# The median seconds of a batch's conversion, which begins when the batch has been copied and the batch before it has
# been converted.
def conversion_seconds(timeline):
    free, taken = 0.0, []
    for batch in timeline:
        taken.append(batch["converted"] - max(batch["copy_end"], free))
        free = batch["converted"]
    return statistics.median(taken) if taken else None


def uploads(found):
    rows = []
    for part in ("upload", "upload_bf16", "upload_f32", "upload_steps", "upload_whole", "upload_blur"):
        bare, ours = (found.median(part, f"{kind}_bytes_per_second") for kind in ("copies", "uploads"))
        result = found.json.get(part, {})
        converts = part != "upload"
        taken = conversion_seconds(result.get("timeline", [])) if converts else None
        rows.append([f"`{result.get('transform', '')}` to `{result.get('normalize', '')}`",
                     number(bare and bare / 1e9, "{:.1f}"), number(ours and ours / 1e9, "{:.1f}"),
                     number(bare and ours and 100 * ours / bare, "{:.1f}%"),
                     number(ours and 1e3 * result["batch_bytes"] / ours, "{:.3f}"),
                     number(taken and 1e6 * taken, "{:.0f}")])
    table("Copies to the card, 256 x 224 x 224 x 3",
          ["steps", "bare pinned copy, GB/s", "a loader's batches, GB/s", "of the bare copy (goal 95%)", "ms a batch",
           "conversion, us"], rows)
    torch = re.search(r"median ([0-9.]+) GB/s", found.log.get("torch_copy", ""))
    if torch:
        print(f"\ntorch copies 1 GB of page-locked memory at {torch.group(1)} GB/s.")


def epochs(found):
    rows = []
    for prefix, title in (("epoch_host", "host"), ("epoch_cuda", "card"), ("epoch_cuda_steps", "card, colours there")):
        rows.append([title, number(found.medians_of_rounds(prefix, "images_per_second")),
                     number(found.medians_of_rounds(prefix, "cpu_seconds_per_1000"), "{:.3f}")])
    for part, title in (("epoch_host_steps", "host, colours"),
                        ("epoch_cuda_host_steps", "card, colours on the host")):
        rows.append([title, number(found.median(part, "images_per_second")),
                     number(found.median(part, "cpu_seconds_per_1000"), "{:.3f}")])
    table("Whole epochs from packed, random-resized-crop 224, flip", ["to", "images/s", "CPU s per 1000"], rows)
    wait(found, "epoch_cuda_step", "decoded by the host")


def wait(found, part, words):
    waits = found.json.get(part, {}).get("batch_wait_percentiles")
    if waits:
        print(f"\nA pretend step of 25 ms waited {1e3 * waits[50]:.3f} ms for a batch that was {words} (median), "
              f"{1e3 * waits[99]:.3f} ms at the 99th percentile (goal: none).")


def nvjpeg_rate(found, part):
    rate = re.search(r"median (\d+) images/s", found.log.get(part, ""))
    return rate and int(rate.group(1))


def decoding(found):
    rows = []
    for name, result in found.json.items():
        form = re.fullmatch(r"(decode|stored_device)_(jpeg|packed|raw)_(\d+)_(\d+)", name)
        use = result.get("device_use")
        if not form or not use:
            continue
        images, copying, bare = use["images"], use["upload_seconds"], use.get("bare_copies_bytes_per_second")
        rate = copying and use["uploaded_bytes"] / copying
        threads = "1 thread" if form.group(3) == "1" else form.group(3) + " threads"
        where = {"decode": "", "stored_device": " on the card"}
        rows.append([f"{form.group(2)}{where[form.group(1)]}, {threads}, batches of {form.group(4)}", number(found.median(name, "images_per_second")),
                     number(images and min(100, 100 * use["decoded_images"] / images), "{:.0f}%"),
                     number(1e6 * use["decode_seconds"] / use["decoded_images"] if use["decoded_images"] else None,
                            "{:.2f}"),
                     number(found.median(name, "cpu_seconds_per_1000"), "{:.3f}"),
                     number(use["uploaded_bytes"] / use["samples"] / 1e3 if use["samples"] else None, "{:.1f}"),
                     number(rate / 1e9 if rate else None, "{:.1f}"),
                     number(100 * rate / bare if rate and bare else None, "{:.0f}%"),
                     number(100 * result["gpu_busy"] if "gpu_busy" in result else None, "{:.0f}%")])
    for part, title in (("nvjpeg", "torchvision's nvJPEG, whole pictures"),
                        ("nvjpeg_crops", "torchvision's nvJPEG, crops of 224 there")):
        rows.append([title, number(nvjpeg_rate(found, part))] + [""] * 7)
    table("Decoded by the card, random-resized-crop 224, flip (goal 200,000 images/s from JPEG, 300,000 from packed)",
          ["from", "images/s", "by the card", "us of its time an image (goal 2)", "CPU s per 1000", "kB an image",
           "GB/s while copying", "of bare copies (goal 95%)", "GPU busy (NVML)"], rows)
    wait(found, "decode_step", "decoded by the card")


def kernel_times(log):
    """{kernel: median microseconds}, from ncu's table, which has a line for each launch."""
    lines = [line for line in log.splitlines() if line.startswith('"')]
    times = {}
    for line in csv.DictReader(lines):
        if line.get("Metric Name") == "gpu__time_duration.sum":
            scale = {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3}[line["Metric Unit"]]
            kernel = re.sub(r"^.*::|\(.*", "", line["Kernel Name"])
            times.setdefault(kernel, []).append(scale * float(line["Metric Value"].replace(",", "")))
    return {kernel: statistics.median(taken) for kernel, taken in times.items()}


def kernels(found):
    rows, names = [], []
    for form in ("jpeg", "packed"):
        for batch in (256, 768):
            times = kernel_times(found.log.get(f"ncu_times_{form}_{batch}", ""))
            names += [name for name in times if name not in names]
            rows.append((f"{form}, {batch}", times))
    table("Kernels, us a launch (by ncu, one after the other)", ["batch of", *names],
          [[title, *(number(times.get(name)) for name in names)] for title, times in rows])


RESNETS = (("repeat", "one batch again and again"), ("sluice-card", "Sluice, decoded by the card"),
           ("sluice-host", "Sluice, decoded by the host"), ("dataloader", "torch, DataLoader"))


def resnets(found):
    rows = []
    results = {}
    for loader, _ in RESNETS:
        lines = [line for line in found.log.get(f"resnet18_{loader}", "").splitlines() if line.startswith("{")]
        results[loader] = json.loads(lines[-1]) if lines else {}
    most = results["repeat"].get("images_per_second")
    for loader, title in RESNETS:
        result = results[loader]
        rate = result.get("images_per_second")
        rows.append([title, number(rate), number(rate and most and 100 * rate / most, "{:.1f}%"),
                     number(result.get("gpu_utilisation"), "{:.0f}%"), number(result.get("watts"), "{:.0f}")])
    table("ResNet-18, 224, bfloat16, batches of 256", ["loader", "images/s", "of one batch again (goal 97%)",
                                                       "GPU utilisation", "watts"], rows)


def cores(found):
    rows, counts = [], []
    ways = {"host": "to the host", "cuda": "to the card", "decode": "decoded by the card"}
    for form in ("jpeg", "packed", "raw"):
        for where, words in ways.items():
            curve = found.json.get(f"cores_{where}_{form}", {}).get("curve", {})
            rates = {point["threads"]: point["images_per_second"] for point in curve.get("points", [])}
            counts = sorted(set(counts) | set(rates))
            rows.append((f"{form}, {words}", rates))
    cells = []
    for title, rates in rows:
        most = max(rates, default=0)
        share = rates[most] / (most * rates[1]) if most > 1 and rates.get(1) else None
        cells.append([title] + [number(rates.get(count)) for count in counts]
                     + [number(share and 100 * share, "{:.0f}%")])
    table("Images/s by cores, random-resized-crop 224, flip (decoded by the host unless the row says otherwise)",
          ["", *(f"{count}" for count in counts or [1]), "of a straight line (goal 95%)"], cells)


def feeds(found):
    rows = []
    goals = {("packed", "mlperf-resnet50-h100"): "58", ("jpeg", "mlperf-resnet50-h100"): "32"}
    for form in ("packed", "jpeg"):
        for profile in ("mlperf-resnet50-h100", "retinanet-b200"):
            fed = [found.median(f"{prefix}_{form}_{profile}", "accelerators_fed")
                   for prefix in ("feeds", "feeds_decode")]
            goal = goals.get((form, profile), "") if any(count is not None for count in fed) else ""
            rows.append([f"{profile}, {form}", *map(number, fed), goal])
    table("Pretend accelerators fed (a step of batches of 400 in 224 ms, 90% of the time; of 24 in 47.55 ms, 85%)",
          ["profile", "decoded by the host", "decoded by the card", "goal of the host on 16 cores"], rows)


TRAININGS = (("train_jpeg", "Sluice, JPEG"), ("train_raw", "Sluice, raw"), ("train_kept", "no loader (batches kept on the card)"),
             ("train_torch_on_card", "torch, data set on the card"), ("train_torch", "torch, DataLoader"),
             ("train_naive", "threaded loader of files"), ("train_naive_one", "the same, one thread"))


def epoch_seconds(found, part):
    taken = [float(text) for text in re.findall(r"^epoch \d+ .* ([0-9.]+) s\b", found.log.get(part, ""), re.M)]
    return statistics.median(taken[1:] or taken) if taken else None  # during the first epoch, cuDNN is tuned


EPOCHS = 24  # the number of epochs of a training


def cost_of(seconds, price):
    return EPOCHS * seconds * price / 3600


def trainings(found, price, plot):
    alone, dataloader = epoch_seconds(found, "train_kept"), epoch_seconds(found, "train_torch")
    rows, bars = [], []
    for part, title in TRAININGS:
        taken = epoch_seconds(found, part)
        if taken is None:
            continue
        bars.append((title, taken))
        accuracy = re.search(r"accuracy ([0-9.]+)% after ([0-9.]+) s", found.log[part])
        whole = accuracy and part in ("train_jpeg", "train_raw", "train_torch_on_card")
        rows.append([title, f"{taken:.3f}", number(alone and max(0.0, taken - alone), "{:.3f}"),
                     number(dataloader and 100 * (1 - taken / dataloader), "{:.0f}%"),
                     f"{accuracy.group(1)}% in {accuracy.group(2)} s" if whole else ""]
                    + ([f"{cost_of(taken, price):.4f}"] if price else []))
    table("ResNet-9 on CIFAR-10, batches of 512",
          ["loader", "s an epoch (median)", "more than without a loader", "less than DataLoader (goal 50%)",
           "accuracy (goal 93.5%)"] + ([f"cost of {EPOCHS} epochs"] if price else []), rows)
    ours = epoch_seconds(found, "train_jpeg")
    if ours and dataloader:
        saved = f"{EPOCHS * (dataloader - ours):.1f} s of {EPOCHS * dataloader:.1f} s"
        if price:
            saved += f", {cost_of(dataloader - ours, price):.4f} of {cost_of(dataloader, price):.4f} at {price:g} an hour"
        print(f"\nCompared with DataLoader, {EPOCHS} epochs from JPEGs save {saved}: "
              f"{100 * (1 - ours / dataloader):.0f}% (goal 50%).")
    if plot and bars:
        plot.write_text(svg(bars, price))


def svg(bars, price):
    longest, height = max(taken for _, taken in bars), 28
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height * len(bars) + 30}" '
             'font-family="sans-serif" font-size="13">',
             '<text x="4" y="16" font-weight="bold">Seconds an epoch, ResNet-9 on CIFAR-10'
             + (f"; cost of {EPOCHS} epochs at {price:g} an hour" if price else "") + "</text>"]
    for row, (title, taken) in enumerate(bars):
        y, width = 26 + height * row, 400 * taken / longest
        lines += [f'<text x="4" y="{y + 15}">{title}</text>',
                  f'<rect x="250" y="{y}" width="{width:.1f}" height="20" fill="#4878a8"/>',
                  f'<text x="{256 + width:.1f}" y="{y + 15}">{taken:.2f} s'
                  + (f"; {cost_of(taken, price):.4f}" if price else "") + "</text>"]
    return "\n".join(lines + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(prog="device_day.sh table")
    parser.add_argument("out", nargs="+", type=pathlib.Path)
    parser.add_argument("--price", type=float)
    parser.add_argument("--plot", type=pathlib.Path)
    arguments = parser.parse_args()
    for folder in arguments.out:
        if not folder.is_dir() and not (folder.is_file() and tarfile.is_tarfile(folder)):
            sys.exit(f"device_day: {folder} is neither a folder nor an archive of results")
    found = Found(arguments.out)
    print(f"## On a card\n\n{card_of(found)}; `bench/notebook/device_day.sh run`.")
    state(found)
    decoding(found)
    kernels(found)
    epochs(found)
    cores(found)
    uploads(found)
    feeds(found)
    trainings(found, arguments.price, arguments.plot)
    resnets(found)


if __name__ == "__main__":
    main()
