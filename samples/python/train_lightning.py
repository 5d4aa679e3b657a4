"""The same training as train_resnet.py, by Lightning: train_lightning.py FOLDER [--epochs N] [--side N]

Needs torch, torchvision and lightning.
"""

import argparse
import pathlib

import lightning
import torch
from torchvision.models import resnet18

import sluice
import sluice.torch
from train_resnet import DEVIATION, MEAN, datasets


class Classifier(lightning.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.model = resnet18(num_classes=classes)
        self.right = self.seen = 0

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.model(batch["image"]), batch["label"])

    def validation_step(self, batch, _):
        self.right += (self.model(batch["image"]).argmax(1) == batch["label"]).sum().item()
        self.seen += len(batch["label"])

    def on_validation_epoch_end(self):
        print(f"epoch {self.current_epoch}: accuracy {self.right / self.seen:.3f} on {self.seen} images")
        self.right = self.seen = 0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.02, momentum=0.9, weight_decay=5e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--side", type=int, default=128)
    options = parser.parse_args()

    made = datasets(options.folder)
    output = sluice.OutputOptions(layout=sluice.Layout.NCHW)
    normalize = sluice.Normalize(MEAN, DEVIATION)
    parts = [
        # fit() gets the datasets without a DataLoader, so that Lightning's checkpoints keep the place in an epoch.
        sluice.torch.IterableDataset(made[part], 32, transform=[*steps, normalize], output=output)
        for part, steps in (
            ("train", [sluice.RandomResizedCrop(options.side, scale=(0.35, 1)), sluice.HorizontalFlip()]),
            ("val", [sluice.CenterResizedCrop(options.side)]))
    ]
    classes = sum(path.is_dir() for path in pathlib.Path(options.folder).iterdir())
    trainer = lightning.Trainer(max_epochs=options.epochs, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, num_sanity_val_steps=0)
    trainer.fit(Classifier(classes), *parts)


if __name__ == "__main__":
    main()
