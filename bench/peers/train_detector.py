"""Trains a detector from its own loader, or from Sluice's with the same steps, and prints what it has learnt.

    python3 train_detector.py --model yolo|fasterrcnn --loader own|sluice [--steps N] [--size N] [--batch-size N]
                              [--seed N] [--dataset DATASET] TRAIN TEST

TRAIN and TEST are folders in YOLO's form: images/ and labels/. For --loader sluice, DATASET is what `sluice convert --yolo
TRAIN TRAIN DATASET --no-resize` made of TRAIN.

yolo is YOLO11n of Ultralytics, with its default steps; its own loader is YOLODataset. fasterrcnn is torchvision's Faster
R-CNN on a MobileNet, with horizontal flips; its own loader is a DataLoader of pictures that Pillow decodes. Weights start
from the seed, in the same way for either loader. Prints the mean loss of each fifth of the steps, and the loss of all
pictures of TEST, which are read by the own loader in both cases.
"""

import argparse
import itertools
import os
import pathlib
import random
import tempfile
import time

os.environ.setdefault("YOLO_AUTOINSTALL", "false")  # Ultralytics would ask the network and write into the home folder
os.environ.setdefault("YOLO_OFFLINE", "true")
os.environ.setdefault("YOLO_VERBOSE", "false")
os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.gettempdir())

import numpy
import torch
from PIL import Image


def classes_of(folder):
    """How many classes the label files of a folder name."""
    lines = (line for path in pathlib.Path(folder, "labels").glob("*.txt") for line in path.read_text().splitlines())
    return 1 + max(int(line.split()[0]) for line in lines if line.strip())


def sluice_batches(arguments, steps, form, **options):
    import sluice

    loader = sluice.Loader(arguments.dataset, arguments.batch_size, transform=steps, seed=arguments.seed, **options)
    for epoch in itertools.count():
        loader.set_epoch(epoch)
        for batch in loader:
            yield batch.torch()["image"], batch.targets(form)


class Yolo:
    def __init__(self, arguments):
        from ultralytics.cfg import get_cfg
        from ultralytics.nn.tasks import DetectionModel

        self.arguments, count = arguments, classes_of(arguments.train)
        self.settings = get_cfg(overrides={"imgsz": arguments.size, "batch": arguments.batch_size, "workers": 0})
        self.names = {"names": {label: str(label) for label in range(count)}, "nc": count, "channels": 3}
        self.model = DetectionModel("yolo11n.yaml", nc=count, verbose=False)
        self.model.args = self.settings

    def files(self, folder, training):
        from ultralytics.data.build import build_dataloader, build_yolo_dataset

        dataset = build_yolo_dataset(self.settings, str(pathlib.Path(folder, "images")), self.settings.batch, self.names,
                                     mode="train" if training else "val", rect=False)
        return build_dataloader(dataset, self.settings.batch, 0, shuffle=training, rank=-1)

    def own(self):
        while True:
            yield from self.files(self.arguments.train, True)

    def sluice(self):
        import sluice

        size, grey = self.arguments.size, [114, 114, 114]
        steps = [sluice.Mosaic(size), sluice.RandomAffine(0, translate=(0.1, 0.1), scale=(0.5, 1.5), size=size, fill=grey),
                 sluice.HorizontalFlip(), sluice.RandomHSV()]
        for images, targets in sluice_batches(self.arguments, steps, "ultralytics",
                                              output=sluice.OutputOptions(layout="nchw")):
            yield {"img": images, **targets}

    def loss(self, batch):
        loss, _ = self.model.loss({**batch, "img": batch["img"].float() / 255})
        return loss.sum() / len(batch["img"])


class FasterRcnn:
    def __init__(self, arguments):
        from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

        self.arguments = arguments
        self.model = fasterrcnn_mobilenet_v3_large_320_fpn(
            weights=None, weights_backbone=None, num_classes=1 + classes_of(arguments.train), trainable_backbone_layers=6,
            min_size=arguments.size, max_size=2 * arguments.size)

    def files(self, folder, training):
        from torchvision import tv_tensors
        from torchvision.transforms import v2

        flip = v2.RandomHorizontalFlip(0.5 if training else 0)
        scale = v2.ToDtype(torch.float32, scale=True)

        class Pictures(torch.utils.data.Dataset):
            paths = sorted(pathlib.Path(folder, "images").iterdir())

            def __len__(self):
                return len(self.paths)

            def __getitem__(self, index):
                path = self.paths[index]
                image = tv_tensors.Image(numpy.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1).copy())
                height, width = image.shape[1:]
                rows = pathlib.Path(folder, "labels", path.stem + ".txt").read_text().split("\n")
                values = torch.tensor([[float(word) for word in row.split()] for row in rows if row.strip()]).reshape(-1, 5)
                corners = torch.cat([values[:, 1:3] - values[:, 3:] / 2, values[:, 1:3] + values[:, 3:] / 2], 1)
                boxes = tv_tensors.BoundingBoxes(corners * torch.tensor([width, height] * 2), format="XYXY",
                                                 canvas_size=(height, width))
                image, boxes = flip(image, boxes)
                return scale(image), {"boxes": boxes.as_subclass(torch.Tensor), "labels": values[:, 0].long() + 1}

        return torch.utils.data.DataLoader(Pictures(), self.arguments.batch_size, shuffle=training, drop_last=training,
                                           collate_fn=lambda rows: tuple(zip(*rows)))

    def own(self):
        while True:
            yield from self.files(self.arguments.train, True)

    def sluice(self):
        import sluice

        for images, targets in sluice_batches(self.arguments, [sluice.HorizontalFlip()], "torchvision",
                                              output=sluice.OutputOptions(layout="nchw", image_sizes="own")):
            yield [image.float() / 255 for image in images], targets

    def loss(self, batch):
        images, targets = batch
        return sum(self.model(list(images), list(targets)).values())


def main():
    parser = argparse.ArgumentParser(description="Trains a detector from its own loader or from Sluice's.")
    parser.add_argument("--model", choices=["yolo", "fasterrcnn"], required=True)
    parser.add_argument("--loader", choices=["own", "sluice"], required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--size", type=int, default=320, help="the side of a picture; for fasterrcnn, the shorter side")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.01, help="learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dataset", help="the converted TRAIN, for --loader sluice")
    parser.add_argument("train")
    parser.add_argument("test")
    arguments = parser.parse_args()
    if arguments.loader == "sluice" and arguments.dataset is None:
        parser.error("--loader sluice needs --dataset")
    for draw in (torch.manual_seed, random.seed, numpy.random.seed):
        draw(arguments.seed)
    task = {"yolo": Yolo, "fasterrcnn": FasterRcnn}[arguments.model](arguments)
    optimizer = torch.optim.SGD(task.model.parameters(), lr=arguments.rate, momentum=0.9, weight_decay=5e-4)
    warmup = max(arguments.steps // 10, 1)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, (arguments.steps - step) / (arguments.steps - warmup + 1)))
    task.model.train()
    losses, begin = [], time.monotonic()
    for batch in itertools.islice(getattr(task, arguments.loader)(), arguments.steps):
        loss = task.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(task.model.parameters(), 10)
        optimizer.step()
        rate.step()
        losses.append(loss.item())
    taken = time.monotonic() - begin
    with torch.no_grad():
        test = numpy.mean([task.loss(batch).item() for batch in task.files(arguments.test, False)])
    parts = " ".join(f"{part.mean():.3f}" for part in numpy.array_split(numpy.array(losses), 5))
    print(f"{arguments.model} {arguments.loader} seed {arguments.seed}: training {parts}  test {test:.3f}  {taken:.0f} s")


if __name__ == "__main__":
    main()
