"""At home in PyTorch: a dataset for torch's DataLoader, and state for torchdata's.

    dataset = sluice.torch.IterableDataset("data/photos", batch_size=256, transform="rrc:224,flip,normalize",
                                           output=sluice.OutputOptions(layout=sluice.Layout.NCHW))
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.data

import sluice


def _ranks(options: dict[str, Any]) -> dict[str, Any]:
    """The rank of torch.distributed, where it is initialised and nothing else is said."""
    if "ranks" not in options and torch.distributed.is_available() and torch.distributed.is_initialized():
        options["ranks"] = sluice.RankOptions(
            rank=torch.distributed.get_rank(), world_size=torch.distributed.get_world_size()
        )
    return options


class IterableDataset(torch.utils.data.IterableDataset[dict[str, Any]]):
    """Batches of a Sluice loader as dicts of tensors, labels as int64.

    Takes the arguments of sluice.Loader. Each iteration plays the next epoch; set_epoch() chooses it.
    Use it alone, or in DataLoader(dataset, batch_size=None, num_workers=0): the loader's threads decode,
    and worker processes would each do all of the work. state_dict() and load_state_dict() are those of
    torchdata's Stateful protocol: a state taken after a batch goes on with the next one.
    """

    def __init__(self, dataset: sluice.Dataset | str | os.PathLike[str], batch_size: int = 256, **options: Any) -> None:
        super().__init__()
        self._arguments = (dataset, batch_size)
        self._options = _ranks(options)
        self.loader = sluice.Loader(dataset, batch_size, **self._options)
        self._epoch = self.loader.state_epoch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        if worker is not None:
            raise RuntimeError(
                "sluice.torch.IterableDataset decodes on threads of its own; use "
                "DataLoader(dataset, batch_size=None, num_workers=0)"
            )
        epoch, self._epoch = self._epoch, self._epoch + 1
        for batch in self.loader.epoch(epoch):
            yield batch.torch()

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration plays."""
        self._epoch = epoch
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, str]:
        return {"sluice": self.loader.state()}

    def load_state_dict(self, state: dict[str, str]) -> None:
        self.loader.close()
        self._options["resume_from"] = state["sluice"]
        self.loader = sluice.Loader(*self._arguments, **self._options)
        self._epoch = self.loader.state_epoch
