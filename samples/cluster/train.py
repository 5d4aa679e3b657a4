#!/usr/bin/env python3
"""Trains a ResNet-18 on one or many machines: train.py DATASET [--epochs N] [--checkpoint FILE] [--stage DIR]

Torchrun, Open MPI or Slurm starts the processes, one for each GPU (without GPUs, they train on CPUs); README.md
in this folder has the commands. DATASET is a folder that every machine sees, or a URL (s3://bucket/dataset). If
the checkpoint exists, the training resumes from it, also in the middle of an epoch and with a different number of
processes. Needs torch, torchvision and the package sluice.
"""

import argparse
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torchvision.models import resnet18

import sluice
import sluice.torch

LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)


def join():
    """Joins the other processes; returns the device to train on. MASTER_ADDR and MASTER_PORT say where they meet."""
    found = next((names for names in LAUNCHERS if all(name in os.environ for name in names)), None)
    rank, world_size, local = (int(os.environ[name]) for name in found) if found else (0, 1, 0)
    cuda = torch.cuda.is_available()
    if world_size > 1:
        dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world_size)
    if not cuda:
        return torch.device("cpu")
    torch.cuda.set_device(local % torch.cuda.device_count())
    return torch.device("cuda", torch.cuda.current_device())


def is_first():
    return not dist.is_initialized() or dist.get_rank() == 0


def save(path, state):
    """Replaces the checkpoint so that a reader finds the old one or the new one, whatever happens."""
    made = path.with_name(path.name + ".new")
    torch.save(state, made)
    os.replace(made, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64, help="samples in a batch of one process")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--checkpoint", type=pathlib.Path, help="a file that every machine sees")
    parser.add_argument("--every", type=int, default=500, help="steps between checkpoints")
    parser.add_argument("--stage", help="a folder on a fast disk of each machine, to keep what was read")
    parser.add_argument("--stage-bytes", type=int, default=10**11, help="the most bytes that --stage may keep")
    options = parser.parse_args()

    device = join()
    data = sluice.torch.IterableDataset(
        options.dataset, options.batch_size,
        transform=[sluice.RandomResizedCrop(options.side), sluice.HorizontalFlip(),
                   sluice.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))],
        output=sluice.OutputOptions(layout=sluice.Layout.NCHW),
        device=device,
        stage=sluice.Stage(options.stage, options.stage_bytes) if options.stage else None,
        ranks=sluice.RankOptions(last_batch=sluice.LastBatch.DROP))
    classes = len(sluice.Dataset(options.dataset).classes)
    model = resnet18(num_classes=classes).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=5e-4)
    epoch = 0
    if options.checkpoint and options.checkpoint.exists():
        state = torch.load(options.checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        data.load_state_dict(state["data"])
        epoch = state["epoch"]
    if dist.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model)
    plain = getattr(model, "module", model)

    def checkpoint(epoch):
        if options.checkpoint and is_first():
            save(options.checkpoint, {"model": plain.state_dict(), "optimizer": optimizer.state_dict(),
                                      "data": data.state_dict(), "epoch": epoch})

    for epoch in range(epoch, options.epochs):
        begun, step, seen, loss = time.monotonic(), 0, 0, torch.zeros((), device=device)
        for step, batch in enumerate(data, 1):
            optimizer.zero_grad()
            now = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            now.backward()
            optimizer.step()
            loss += now.detach()
            seen += len(batch["label"])
            if step % options.every == 0:
                checkpoint(epoch)
        checkpoint(epoch + 1)
        if is_first():
            world_size = dist.get_world_size() if dist.is_initialized() else 1
            seconds = time.monotonic() - begun
            print(f"epoch {epoch}: {seen * world_size} images by {world_size} processes, loss "
                  f"{loss.item() / max(step, 1):.4f}, {seconds:.1f} s; {data.loader.stats().verdict}", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
