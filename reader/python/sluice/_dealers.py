"""Finds classes that deal out a dataset's batches to processes. If a loader already plays the share of one process
alone, most of that share would then be lost."""

from __future__ import annotations

import sys
import types

# By module, the classes that deal out an iterable dataset's batches to processes. A DataLoaderDispatcher reads in one
# process for all. Each process has an IterableDatasetShard of its own, which reads everything and
# takes its part.
_DEALERS: dict[str, tuple[str, ...]] = {
    "accelerate.data_loader": ("DataLoaderDispatcher", "IterableDatasetShard"),
    "transformers.trainer_pt_utils": ("IterableDatasetShard",),
}


# accelerate's class that plays an epoch without its first batches.
_SKIPPERS: dict[str, tuple[str, ...]] = {"accelerate.data_loader": ("SkipDataLoader",)}


def _caller(classes: dict[str, tuple[str, ...]]) -> str | None:
    """The class, of these by module, that asks for a batch, if there is one. It is among the callers, also in a
    worker process of torch's DataLoader, because that process was forked inside such a call."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        of_module = classes.get(frame.f_globals.get("__name__", ""), ())
        if of_module:
            name = type(frame.f_locals.get("self")).__name__
            if name in of_module:
                return name
        frame = frame.f_back
    return None


def refusal(rank: int, world_size: int) -> str:
    """Why a loader that plays the share of `rank` must not play here; '' if it may."""
    dealer = _caller(_DEALERS) if world_size > 1 else None
    data = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if dealer and data else None
    if dealer is None or worker and (worker.id, worker.num_workers) == (rank, world_size):  # this worker's own share
        return ""
    return (
        f"{dealer} deals batches out to the processes, but this loader already plays the share of rank {rank} of "
        f"{world_size}, so most samples would never be seen. Use the dataset without accelerator.prepare(), and move its "
        "tensors to accelerator.device (in transformers' Trainer: return it from get_train_dataloader() as it is); or let "
        "one process read for all, by ranks=sluice.RankOptions(world_size=1)"
    )


def refusal_to_skip() -> str:
    """Why a dataset whose epoch nobody has set must not play here; '' if it may. A training that resumes would get the
    batches of the first epoch, whichever epoch it resumes in."""
    if not _caller(_SKIPPERS):
        return ""
    return (
        "accelerate skips the batches before a resume, but nobody has told the dataset which epoch to play: call its "
        "set_epoch(). In transformers' Trainer, a callback does so: class Epochs(transformers.TrainerCallback): "
        "def on_epoch_begin(self, args, state, control, train_dataloader, **_): train_dataloader.set_epoch(int(state.epoch))"
    )
