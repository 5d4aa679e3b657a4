"""Trains the model of samples/train_cifar.cpp as is usual in Python: with PyTorch's DataLoader over files.

    python3 train_cifar.py [--epochs N] [--workers N] [--steps N] [--width N] [--cutout SIDE] [--on-card] TRAIN TEST

TRAIN and TEST are folders of 32x32 pictures, with a folder for each class. Prints what train_cifar prints, so that the
times of an epoch can be compared. With --on-card, the training pictures are decoded once and stay on the GPU, which
also crops and flips them: a loader written for this dataset alone.
"""

import argparse
import os
import time

import torch
import torchvision
from torch import nn
from torchvision.transforms import v2


class Convolution(nn.Module):
    """A convolution with batch normalisation and ReLU. It computes in the type of its input."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        weight = self.convolution.weight.to(x.dtype)
        return nn.functional.relu(self.norm(nn.functional.conv2d(x, weight, padding=1)))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner = nn.Sequential(Convolution(channels, channels), Convolution(channels, channels))

    def forward(self, x):
        return x + self.inner(x)


class Scores(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.linear = nn.Linear(channels, 10, bias=False)

    def forward(self, x):
        return 0.125 * self.linear(x.float())


def resnet9(w):
    return nn.Sequential(
        Convolution(3, w), Convolution(w, 2 * w), nn.MaxPool2d(2), Residual(2 * w), Convolution(2 * w, 4 * w),
        nn.MaxPool2d(2), Convolution(4 * w, 8 * w), nn.MaxPool2d(2), Residual(8 * w), nn.AdaptiveMaxPool2d(1),
        nn.Flatten(), Scores(8 * w))


class OnCard:
    """All pictures on the device, as bytes. Each epoch has a new order; crops and flips are made batch by batch."""

    def __init__(self, folder, device, cutout, batch=512):
        pictures = torchvision.datasets.ImageFolder(folder, v2.PILToTensor())
        loader = torch.utils.data.DataLoader(pictures, batch_size=1000, num_workers=os.cpu_count())
        images, self.labels = (torch.cat(all).to(device) for all in zip(*loader))
        mirrored = torch.tensor([4, 3, 2, 1, *range(32), 30, 29, 28, 27], device=device)
        self.padded = images[:, :, mirrored][:, :, :, mirrored]
        self.mean = 255 * torch.tensor((0.4914, 0.4822, 0.4465), device=device).view(1, 3, 1, 1)
        self.deviation = 255 * torch.tensor((0.2470, 0.2435, 0.2616), device=device).view(1, 3, 1, 1)
        self.cutout, self.batch = cutout, batch

    def __len__(self):
        return len(self.labels) // self.batch

    def __iter__(self):
        device = self.labels.device
        order = torch.randperm(len(self.labels), device=device)
        side = torch.arange(32, device=device)
        for at in range(len(self)):
            rows = order[at * self.batch:(at + 1) * self.batch]
            top, left = torch.randint(0, 9, (2, self.batch, 1), device=device)
            columns = left + side
            columns = torch.where(torch.rand(self.batch, 1, device=device) < 0.5, columns.flip(1), columns)
            images = self.padded[rows[:, None, None], :, (top + side)[:, :, None], columns[:, None, :]]
            images = (images.permute(0, 3, 1, 2) - self.mean) / self.deviation
            if self.cutout:
                away = side - torch.randint(0, 33 - self.cutout, (2, self.batch, 1), device=device)
                inside = (away >= 0) & (away < self.cutout)
                images = images.masked_fill((inside[0, :, :, None] & inside[1, :, None, :])[:, None], 0)
            yield images, self.labels[rows]


def batches(folder, training, arguments, device):
    steps = [v2.RandomCrop(32, 4, padding_mode="reflect"), v2.RandomHorizontalFlip()] if training else []
    share = arguments.cutout**2 / 32**2
    erase = [v2.RandomErasing(1, scale=(share, share), ratio=(1, 1))] if training and share else []
    pictures = torchvision.datasets.ImageFolder(folder, v2.Compose(steps + [
        v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))] + erase))
    return torch.utils.data.DataLoader(
        pictures, batch_size=512, shuffle=training, drop_last=training, num_workers=arguments.workers,
        pin_memory=device.type == "cuda", persistent_workers=training and arguments.workers > 0)


def on_device(batch, device):
    images, labels = batch
    images = images.to(device, non_blocking=True, memory_format=torch.channels_last)
    images = images.to(torch.bfloat16 if device.type == "cuda" else torch.float32)
    return images, labels.to(device, non_blocking=True)


def rate(progress):
    return 0.4 * min(progress / 0.2, (1 - progress) / 0.8)


def train(model, arguments, device):
    loader = (OnCard(arguments.train, device, arguments.cutout) if arguments.on_card
              else batches(arguments.train, True, arguments, device))
    all_steps = arguments.steps or len(loader) * arguments.epochs
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    step, seconds = 0, 0.0
    for epoch in range(arguments.epochs):
        begin = asked = time.monotonic()
        waited = 0.0  # seconds, for batches
        total = torch.zeros((), device=device)
        counted = 0
        for batch in loader:
            if step >= all_steps:
                break
            step += 1
            images, labels = on_device(batch, device)
            waited += time.monotonic() - asked
            for group in optimizer.param_groups:
                group["lr"] = rate(step / (all_steps + 1))
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            counted += 1
            asked = time.monotonic()
        loss = total.item() / max(counted, 1)
        taken = time.monotonic() - begin
        seconds += taken
        # On a GPU, the host's waits mean nothing: it runs ahead, and then waits for the GPU.
        waits = f", waited {1e3 * waited / max(counted, 1):.3f} ms a batch" if device.type == "cpu" else ""
        print(f"epoch {epoch}  loss {loss:.4f}  {taken:.3f} s{waits}", flush=True)
        if step >= all_steps:
            break
    return seconds


@torch.no_grad()
def accuracy(model, arguments, device):
    model.eval()
    right = total = 0
    for batch in batches(arguments.test, False, arguments, device):
        images, labels = on_device(batch, device)
        scores = model(images) + model(images.flip(3))
        right += (scores.argmax(1) == labels).sum().item()
        total += len(labels)
    return 100 * right / max(total, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--cutout", type=int, default=0, metavar="SIDE",
                        help="erase a square of SIDE pixels in each training picture")
    parser.add_argument("--on-card", action="store_true")
    parser.add_argument("train")
    parser.add_argument("test")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = resnet9(arguments.width).to(device)
    seconds = train(model, arguments, device)
    print(f"accuracy {accuracy(model, arguments, device):.2f}% after {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
