"""Trains a ResNet-18 fed by one of four loaders, to compare how fast the training goes with each.

    python3 train_resnet18.py --loader NAME [--epochs N] [--draws N] [--batch-size N] [--workers N]
                              [--device cuda|cpu] [--side N] [--limit-seconds N] DATA

dataloader    DATA is a folder with a folder of pictures for each class: torchvision's ImageFolder and transforms,
              PyTorch's DataLoader, pinned memory
sluice-host   DATA is a Sluice dataset, as for all below; Sluice decodes on the processor
sluice-card   Sluice decodes on the GPU
repeat        one batch stays on the GPU and is used again and again: the rate of the model alone

All loaders crop (a random part, resized to 224), flip and normalize. DataLoader's batches are copied to the GPU as
float32, as its transforms make them, and are converted there to the training's form, bfloat16 and channels last;
Sluice delivers them in that form. An epoch has --draws pictures (whole batches only), however many DATA has:
DataLoader draws with replacement, and Sluice plays each picture equally often, in a random order.

The wait for batches is the time from the end of one step to the beginning of the next. On a GPU, where the host runs
ahead, the GPU's clock measures it: idle time, copies, and the conversion of batches to the training's form.

Each loader first feeds some steps that are not timed. The GPU is idle when a timed epoch begins and when it ends. With
nvidia-smi on the PATH, the GPU's utilisation and power during the timed epochs are reported. The last line is JSON.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

import torch
import torchvision
from torchvision.transforms import v2

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SCALE = (0.08, 1)  # the share of a picture's area that a crop takes
WARM_UP_STEPS = 20
PREFETCH = 4  # batches for each of DataLoader's workers


class Draws(torch.utils.data.Sampler):
    """Draws numbers with replacement; `count` may change from epoch to epoch."""

    def __init__(self, pictures):
        self.pictures, self.count = pictures, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(torch.randint(self.pictures, (self.count,)).tolist())


def prefetch_that_fits(arguments):
    """The number of batches to prefetch. They wait in shared memory, so there are fewer if it is small."""
    batch = arguments.batch_size * (3 * arguments.side**2 * 4 + 8)
    room = shutil.disk_usage("/dev/shm").free
    fits = int(0.9 * room / batch / arguments.workers)
    if fits < 1:
        sys.exit(f"/dev/shm has {room / 1e9:.1f} GB free, and {arguments.workers} workers need "
                 f"{batch * arguments.workers / 1e9:.1f} GB for a batch each; make it larger or use fewer --workers")
    if fits < PREFETCH:
        print(f"/dev/shm has room for {fits} instead of {PREFETCH} batches for each worker")
    return min(fits, PREFETCH)


def from_dataloader(arguments, device):
    pictures = torchvision.datasets.ImageFolder(arguments.data, v2.Compose([
        v2.RandomResizedCrop(arguments.side, SCALE), v2.RandomHorizontalFlip(),
        v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)]))
    draws = Draws(len(pictures))
    cuda = device.type == "cuda"
    loader = torch.utils.data.DataLoader(
        pictures, arguments.batch_size, sampler=draws, drop_last=True, num_workers=arguments.workers, pin_memory=cuda,
        persistent_workers=arguments.workers > 0,
        prefetch_factor=prefetch_that_fits(arguments) if arguments.workers else None)

    def batches(steps):
        draws.count = steps * arguments.batch_size
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            yield (images.to(torch.bfloat16, memory_format=torch.channels_last),
                   labels.to(device, non_blocking=True))

    return batches, dict


def sluice_loader(arguments, device, decode):
    import sluice

    pictures = len(sluice.Dataset(arguments.data))
    return sluice.Loader(
        arguments.data, arguments.batch_size, device="cuda:0" if device.type == "cuda" else "cpu",
        transform=[sluice.RandomResizedCrop(arguments.side, scale=SCALE), sluice.HorizontalFlip(),
                   sluice.Normalize(MEAN, DEVIATION, type="bfloat16")],
        order=sluice.OrderOptions(samples=sluice.SampleList.of([n % pictures for n in range(arguments.draws)])),
        ranks=sluice.RankOptions(last_batch="drop"), on_device=sluice.OnDevice(decode=decode))


def tensors_of(batch):
    """The images in PyTorch's channels-last form: shape (N, C, H, W), memory in the order N, H, W, C."""
    tensors = batch.torch()
    return tensors["image"].permute(0, 3, 1, 2), tensors["label"]


def from_sluice(arguments, device, decode):
    loader = sluice_loader(arguments, device, decode)
    print(loader)

    def batches(steps):
        for number, batch in enumerate(loader):
            yield tensors_of(batch)
            del batch  # its memory goes back to the loader
            if number + 1 == steps:
                break

    def figures():
        stats = loader.stats()
        print(stats)
        return {"verdict": str(stats.verdict), "device_pictures": stats.device_pictures}

    return batches, figures


def from_one_batch(arguments, device):
    loader = sluice_loader(arguments, device, "host")
    images, labels = (tensor.clone() for tensor in tensors_of(next(iter(loader))))
    del loader

    def batches(steps):
        for _ in range(steps):
            yield images, labels

    return batches, dict


# Each function returns `batches(steps)`, which yields (images, labels) for that many steps, and `figures()`, which
# returns further members of the result ({} from dict).
LOADERS = {
    "dataloader": from_dataloader,
    "sluice-host": lambda arguments, device: from_sluice(arguments, device, "host"),
    "sluice-card": lambda arguments, device: from_sluice(arguments, device, "device"),
    "repeat": from_one_batch,
}


class GpuWatch:
    """Asks nvidia-smi four times a second, in a thread, until the `with` block ends."""

    KEYS = "gpu_utilisation", "watts", "clock_mhz"

    def __init__(self, device):
        self.rows, self.process = [], None
        if device.type == "cuda" and shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(
                ["nvidia-smi", "--id=0", "--query-gpu=utilization.gpu,power.draw,clocks.sm", "--format=csv,noheader",
                 "-lms", "250"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):  # "[N/A]"
                self.rows.append((time.monotonic(), *(float(value.split()[0]) for value in line.split(","))))

    def means(self, spans):
        rows = [values for at, *values in self.rows if any(begin <= at <= end for begin, end in spans)]
        return {key: round(statistics.mean(values), 1) for key, values in zip(self.KEYS, zip(*rows))}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()


def busy_core_seconds():
    """The seconds that all cores of the machine were busy since it started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft_irq = (int(value) for value in file.readline().split()[1:8])
    return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")


class Waits:
    """Measures the seconds between steps, by the device's clock."""

    def __init__(self, device):
        self.on_gpu = device.type == "cuda"
        self.ends, self.begins = [self.now()], []

    def now(self):
        if not self.on_gpu:
            return time.monotonic()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def step_begins(self):
        self.begins.append(self.now())

    def step_ends(self):
        self.ends.append(self.now())

    def seconds(self):
        """The seconds measured. Call it once the device has done all steps."""
        pairs = zip(self.ends, self.begins)
        if self.on_gpu:
            return sum(end.elapsed_time(begin) for end, begin in pairs) / 1e3
        return sum(begin - end for end, begin in pairs)


class Training:
    def __init__(self, device):
        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = True
        self.device = device
        self.model = torchvision.models.resnet18().to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.05, momentum=0.9, weight_decay=5e-5)

    def step(self, images, labels):
        with torch.autocast(self.device.type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def play(self, batches, deadline):
        """Trains on the batches, until the deadline. Returns the steps made, the last loss, and the seconds waited."""
        waits, steps, loss = Waits(self.device), 0, None
        for images, labels in batches:
            waits.step_begins()
            loss = self.step(images, labels)
            waits.step_ends()
            steps += 1
            if time.monotonic() > deadline:
                break
        self.wait()
        return steps, float("nan") if loss is None else loss.item(), waits.seconds()


def measure(arguments, device):
    deadline = time.monotonic() + arguments.limit_seconds
    batches, figures = LOADERS[arguments.loader](arguments, device)
    steps = arguments.draws // arguments.batch_size
    training = Training(device)
    rates, seconds, waited, images, spans, busy = [], [], [], [], [], 0.0
    with GpuWatch(device) as watch:
        training.play(batches(min(WARM_UP_STEPS, steps)), deadline)
        for epoch in range(arguments.epochs):
            if time.monotonic() > deadline:
                break
            busy_before, begin = busy_core_seconds(), time.monotonic()
            played, loss, waits = training.play(batches(steps), deadline)
            end = time.monotonic()
            busy += busy_core_seconds() - busy_before
            spans.append((begin, end))
            seconds.append(end - begin)
            waited.append(waits)
            images.append(played * arguments.batch_size)
            rates.append(images[-1] / seconds[-1])
            print(f"epoch {epoch}  {rates[-1]:.0f} images/s  {seconds[-1]:.2f} s  waited {waits:.2f} s  loss {loss:.3f}"
                  f"{'' if played == steps else f'  (stopped after {played} of {steps} steps)'}", flush=True)
        if not rates:
            sys.exit(f"no epoch was timed within {arguments.limit_seconds:g} s; raise --limit-seconds")
        found = {"loader": arguments.loader, "images_per_second": round(statistics.median(rates), 1),
                 "seconds": round(statistics.median(seconds), 3),
                 "waited_seconds": round(statistics.median(waited), 3), **watch.means(spans)}
    found |= {"busy_cores": round(busy / sum(seconds), 2), "images": sum(images), "epochs": len(rates),
              "rates": [round(rate, 1) for rate in rates], "batch_size": arguments.batch_size,
              "workers": arguments.workers if arguments.loader == "dataloader" else None,
              "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", **figures()}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loader", choices=LOADERS, required=True)
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs (3)")
    parser.add_argument("--draws", type=int, default=60_000, help="pictures in an epoch (60000)")
    parser.add_argument("--batch-size", type=int, default=256, help="pictures in a batch (256)")
    parser.add_argument("--workers", type=int, default=16, help="DataLoader's processes (16)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--side", type=int, default=224, help="pixels of a crop's side (224)")
    parser.add_argument("--limit-seconds", type=float, default=float("inf"),
                        help="stop after so many seconds, the warm-up included, and report what was done")
    parser.add_argument("data", metavar="DATA")
    arguments = parser.parse_args()
    if arguments.draws < arguments.batch_size:
        parser.error("--draws is less than a batch")
    if arguments.loader == "sluice-card" and arguments.device == "cpu":
        parser.error("sluice-card needs --device cuda")
    print(json.dumps(measure(arguments, torch.device(arguments.device))))


if __name__ == "__main__":
    main()
