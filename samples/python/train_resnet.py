"""Trains a ResNet-18 on a folder of pictures: train_resnet.py FOLDER [--epochs N] [--side N] [--peer]

Converts the folder once, a tenth of it for validation, then trains from Sluice, or with --peer from
torchvision's ImageFolder and PyTorch's DataLoader, for comparison. Needs torch and torchvision.
"""

import argparse
import pathlib
import time

import torch

import sluice

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def datasets(folder):
    """Returns the folders of the two datasets, and makes those that do not exist yet."""
    made = {}
    for part, begin, end in ("train", 0.0, 0.9), ("val", 0.9, 1.0):
        made[part] = pathlib.Path(folder).with_name(f"{pathlib.Path(folder).name}-{part}")
        source = sluice.ConvertSource(folder)
        source.split = sluice.SplitPart(begin, end)
        source.label.classes = sorted(path.name for path in pathlib.Path(folder).iterdir() if path.is_dir())
        sluice.convert(source, made[part])
    return made


def loaders(folder, batch_size, side):
    options = {"output": sluice.OutputOptions(layout=sluice.Layout.NCHW)}
    normalize = sluice.Normalize(MEAN, DEVIATION)
    train, val = datasets(folder).values()
    return (
        sluice.Loader(train, batch_size, **options, transform=[
            sluice.RandomResizedCrop(side, scale=(0.35, 1)), sluice.HorizontalFlip(), normalize]),
        sluice.Loader(val, batch_size, **options, transform=[sluice.CenterResizedCrop(side), normalize],
                      order=sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)),
    )


def batches(loader):
    for batch in loader:
        if isinstance(batch, sluice.Batch):
            tensors = batch.torch()
            yield tensors["image"], tensors["label"]
        else:
            yield batch


def peer_loaders(folder, batch_size, side):
    """The same split by the same keys, read by PyTorch's own means."""
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    after = [transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)]
    parts = {
        "train": transforms.Compose([transforms.RandomResizedCrop(side, (0.35, 1)),
                                     transforms.RandomHorizontalFlip(), *after]),
        "val": transforms.Compose([transforms.Resize(side * 256 // 224), transforms.CenterCrop(side), *after]),
    }
    made = []
    for part, dataset in datasets(folder).items():
        images = ImageFolder(folder, parts[part])
        opened = sluice.Dataset(dataset)
        keys = {opened[number].key for number in range(len(opened))}
        chosen = [at for at, (path, _) in enumerate(images.samples)
                  if str(pathlib.Path(path).relative_to(folder)) in keys]
        made.append(torch.utils.data.DataLoader(torch.utils.data.Subset(images, chosen), batch_size,
                                                shuffle=part == "train", num_workers=2))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()

    from torchvision.models import resnet18

    train, val = (peer_loaders if options.peer else loaders)(options.folder, options.batch_size, options.side)
    torch.manual_seed(1)
    model = resnet18(num_classes=sum(path.is_dir() for path in pathlib.Path(options.folder).iterdir()))
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=5e-4)
    for epoch in range(options.epochs):
        begun = time.monotonic()
        model.train()
        for images, labels in batches(train):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        seconds = time.monotonic() - begun
        model.eval()
        right = seen = 0
        with torch.no_grad():
            for images, labels in batches(val):
                right += (model(images).argmax(1) == labels).sum().item()
                seen += len(labels)
        print(f"epoch {epoch}: {seconds:.1f} s, accuracy {right / seen:.3f} on {seen} images", flush=True)
    if not options.peer:
        print(train.stats().verdict)


if __name__ == "__main__":
    main()
