"""Sluice in PyTorch: a dataset for torch's DataLoader, and for torchdata's, which also asks for its state.

    dataset = sluice.torch.IterableDataset("data/photos", batch_size=256, transform="rrc:224,flip,normalize",
                                           output=sluice.OutputOptions(layout=sluice.Layout.NCHW))
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
"""

from __future__ import annotations

import difflib
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data

import sluice
from sluice import _dealers
from sluice._targets import FORMS

if TYPE_CHECKING:  # type checkers bring typing_extensions
    from typing_extensions import Unpack

    from sluice._sluice import _LoaderOptions


def _group() -> tuple[int, int]:
    """Rank and world size of torch.distributed, if it is initialised; else (0, 0), so that the environment decides."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 0


def _targets_of(form: str) -> Callable[[sluice.Batch], Any]:
    return lambda batch: batch.targets(form)


# What a batch's dict may have in addition to the fields.
_EXTRAS: dict[str, Callable[[sluice.Batch], Any]] = {
    "has": lambda batch: {field: torch.from_numpy(batch.has(field)) for field in batch.keys()},
    "samples": lambda batch: torch.from_numpy(batch.samples),
    "valid": lambda batch: batch.valid,
    "flags": lambda batch: torch.from_numpy(batch.flags),
    "sizes": lambda batch: torch.tensor(batch.sizes()),
    "maps": lambda batch: torch.from_numpy(batch.maps()),
    "parts": lambda batch: torch.from_numpy(batch.parts()),
    **{form: _targets_of(form) for form in FORMS},
}


class IterableDataset(torch.utils.data.IterableDataset[dict[str, Any]]):
    """Batches of a Sluice loader as dicts of tensors, labels as int64.

    Takes the arguments of sluice.Loader. Each iteration plays the next epoch; set_epoch() chooses it.
    Use it alone, or in DataLoader(dataset, batch_size=None, num_workers=0): the loader's threads decode,
    and worker processes would each do all of the work. The rank is that of torch.distributed when an epoch
    begins, unless `ranks` names a world_size. Each process plays its own share, so nothing else may deal out its
    batches: with accelerate, do not prepare() the dataset. state_dict() and load_state_dict() are those of
    torchdata's Stateful protocol: a state taken after a batch resumes with the next one.

    extras: further entries of the dicts. "has": by field, which rows have a value; "samples": the numbers of the
    rows' samples; "valid": the number of rows, without those that only fill up the batch; "flags": SampleFlag; "sizes",
    "maps" and "parts": what the batch's functions of these names give; "torchvision", "ultralytics" and "transformers":
    its targets() of that form.
    """

    def __init__(
        self,
        dataset: sluice.Dataset | sluice.Mixture | str | os.PathLike[str],
        batch_size: int = 256,
        *,
        extras: Iterable[str] = (),
        **options: Unpack[_LoaderOptions],
    ) -> None:
        super().__init__()
        self._extras = (extras,) if isinstance(extras, str) else tuple(extras)
        for name in self._extras:
            if name not in _EXTRAS:
                raise ValueError(f"extras are {', '.join(map(repr, _EXTRAS))}, not {name!r}")
        self._arguments = (dataset, batch_size)
        self._options: _LoaderOptions = options
        # _ended: an epoch whose batches have all been handed over, but whose iteration has not ended. _only_ends: an
        # epoch that ends without a batch when it is iterated, because the state of such an epoch was loaded.
        self._ended: int | None = None
        self._only_ends: int | None = None
        self._told = False  # set_epoch() has chosen the epoch that the next iteration plays
        self._open(before_launch="WORLD_SIZE" in os.environ and "RANK" not in os.environ)
        self._epoch = self._loader.state_epoch

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_":
            options = {*inspect.signature(sluice.Loader).parameters, "extras"}
            close = difflib.get_close_matches(name, options, 1)
            raise AttributeError(
                f"an IterableDataset has no attribute {name!r} to set" + (
                    f"; its options are given when it is made: IterableDataset(..., {close[0]}=...)" if close else ""))
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"sluice.torch.IterableDataset of\n{self._loader!r}"

    # Attributes of DataLoader(self, batch_size=None). From them, accelerate makes a DataLoader that skips the batches
    # before a resume of transformers' Trainer.
    batch_size = None

    @property
    def drop_last(self) -> bool:
        """Always False: the loader's option `last_batch` says what becomes of the last batch."""
        return False

    @property
    def prefetch_factor(self) -> None:
        """Always None: the loader prefetches by itself."""
        return None

    @property
    def dataset(self) -> IterableDataset:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: the arguments, and the epoch that the next iteration plays; not the loader, and not
        the place in an epoch, which state_dict() has."""
        return {name: value for name, value in self.__dict__.items() if name != "_loader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open(self._before_launch)

    @property
    def loader(self) -> sluice.Loader:
        """The loader that plays. Makes a new one if torch.distributed was initialised after the old one was made, or if
        the old one only checked the options (_open())."""
        if self._before_launch or _group() not in ((0, 0), self._made_for):
            self._loader.close()
            self._open()
        return self._loader

    def _open(self, before_launch: bool = False) -> None:
        """`before_launch`: the launcher has set WORLD_SIZE, but will tell the rank only to torch.distributed, and later
        (as Lightning's does). The loader made now only checks the options."""
        self._made_for = _group()  # rank and world size that the loader is made for
        options: _LoaderOptions = {**self._options}
        ranks = options.get("ranks")
        before_launch = before_launch and self._made_for[1] == 0 and (ranks is None or ranks.world_size == 0)
        if before_launch:
            self._made_for = 0, 1
        if self._made_for[1] > 0 and (ranks is None or ranks.world_size == 0):
            rank, world_size = self._made_for
            last_batch, by_shards = (ranks.last_batch, ranks.by_shards) if ranks else (sluice.LastBatch.KEEP, False)
            options["ranks"] = sluice.RankOptions(rank, world_size, last_batch, by_shards)
        self._loader = sluice.Loader(*self._arguments, **options)
        self._before_launch = before_launch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None:
            raise RuntimeError(
                "sluice.torch.IterableDataset decodes on threads of its own; use "
                "DataLoader(dataset, batch_size=None, num_workers=0)"
            )
        # If the caller is torch's DataLoader, its variable auto_collation says whether it makes batches of its own.
        if sys._getframe(1).f_locals.get("auto_collation"):
            warnings.warn(
                "DataLoader puts each batch of this dataset into one more dimension: give it batch_size=None",
                stacklevel=2,
            )
        # Checked here, too, so that each process gets the error: a dealer may ask for batches in only one of them.
        refusal = _dealers.refusal(*self.loader.rank) or ("" if self._told else _dealers.refusal_to_skip())
        if refusal:
            raise RuntimeError(refusal)
        return self._play()

    def _play(self) -> Iterator[dict[str, Any]]:
        loader = self.loader
        epoch, self._epoch, self._told = self._epoch, self._epoch + 1, False
        only_ends, self._only_ends = self._only_ends, None
        if only_ends == epoch:
            return
        for batch in loader.epoch(epoch):
            # torchdata may keep a state between the last batch and the end of the iteration.
            self._ended = epoch if batch.index + 1 == len(loader) else None
            tensors = batch.torch()
            for name in self._extras:
                if name in tensors:
                    raise ValueError(f"the dataset has a field {name!r}, so extras cannot have that name, too")
                tensors[name] = _EXTRAS[name](batch)
            yield tensors
        self._ended = None

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next iteration plays."""
        self._epoch, self._told = epoch, True
        self._ended = None
        if epoch != self._only_ends:
            self._only_ends = None
            self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The place after the last batch that was handed over, as a small dict for a checkpoint."""
        state: dict[str, Any] = {"sluice": self.loader.state()}
        ended = self._ended if self._only_ends is None else self._only_ends
        return state if ended is None else {**state, "ended": ended}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues after the batch after which the state was taken. Raises ValueError or sluice.Error if `state` is
        not from state_dict()."""
        if not isinstance(state.get("sluice"), str):
            raise ValueError("this is not a state of a sluice.torch.IterableDataset: it has no 'sluice'")
        before, self._options = self._options, {**self._options, "resume_from": state["sluice"]}
        self._loader.close()
        try:
            self._open(self._before_launch)
        except BaseException:
            self._options = before
            self._open(self._before_launch)
            raise
        self._ended, self._only_ends = None, state.get("ended")
        self._epoch = self._loader.state_epoch if self._only_ends is None else self._only_ends
