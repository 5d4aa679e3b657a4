"""Loader.tee(): one loader's batches for several loops, each in a thread of its own."""

from __future__ import annotations

import collections
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Deque, List, Optional, Union

from sluice._sluice import Batch, Error, Loader

_Item = Union[Batch, Exception, None]  # None: the end of an epoch

_MAX_BRANCHES = 1024  # each is a loop in a thread of its own

_LOOK_SECONDS = 0.2  # how often a branch that waits looks for a closed loader


class _Shared:
    """The batches that some branches still need, by number. The first branch that needs another batch takes it from
    the loader."""

    def __init__(self, loader: Loader, branches: int, apart: int, timeout: float) -> None:
        self.loader = loader
        self.apart = apart
        self.timeout = timeout  # in seconds; 0: none
        self.changed = threading.Condition()
        self.items: Deque[_Item] = collections.deque()
        self.first = 0  # the number of items[0]
        # By branch: the number of the item that it has or waits for. None: its loop ended early.
        self.at: List[Optional[int]] = [-1] * branches
        self.dropped: List[int] = []  # branches that were collected
        self.walk: Optional[Iterator[Batch]] = None
        self.taking = False  # a thread waits for the loader

    def end(self) -> int:
        return self.first + len(self.items)

    def move(self, branch: int, to: Optional[int]) -> None:
        """Notes the number that a branch has reached, and drops the items that no branch needs any more."""
        self.at[branch] = to
        least = min((at for at in self.at if at is not None), default=self.end())
        while self.items and self.first < least:
            self.items.popleft()
            self.first += 1
        self.changed.notify_all()

    def wait(self, begin: float) -> None:
        """Waits a moment for another branch, for which this one has waited since `begin`. A branch that was dropped, or a loader that was closed, does not notify:
        a finalizer may run while this very thread holds the lock. So each wait is short, and looks for both."""
        self.changed.wait(min(_LOOK_SECONDS, self.timeout or _LOOK_SECONDS))
        while self.dropped:
            self.move(self.dropped.pop(), None)
        self.loader.stats()  # raises an error if the loader is closed
        if self.timeout and not self.taking and time.monotonic() - begin >= self.timeout:
            error = Error(
                f"no batch came within {self.timeout:g} s (timeout): another branch of tee() has not taken its next batch, "
                f"and this branch may be only {self.apart} ahead (apart); let the other branch play, drop it, or close the "
                "Loader"
            )
            error.code, error.file, error.place = "input/output", "", ""
            raise error

    def next(self, branch: int) -> _Item:
        with self.changed:
            at = self.at[branch]
            wanted = self.end() if at is None else at + 1
            self.move(branch, wanted)
            begin = time.monotonic()
            while wanted >= self.end():
                slowest = min(at for at in self.at if at is not None)
                if self.taking or self.end() - slowest > self.apart:
                    self.wait(begin)
                else:
                    self._take()
            return self.items[wanted - self.first]

    def _take(self) -> None:
        """Appends the loader's next batch, its error or the end of the epoch to the items. Gives up the lock while it
        waits. After an interrupt, nothing is appended, and another branch may try."""
        self.taking = True
        self.changed.release()
        item: _Item = None
        taken = False
        try:
            if self.walk is None:
                self.walk = iter(self.loader)
            item = next(self.walk, None)
            taken = True
        except Exception as error:  # each branch raises it when it gets there
            item, taken = error, True
        finally:
            self.changed.acquire()
            self.taking = False
            if taken:
                self.items.append(item)
                if item is None:
                    self.walk = None
            self.changed.notify_all()


class Branch:
    """One of the branches of Loader.tee(): `for batch in branch` plays the next epoch, as with the loader."""

    def __init__(self, shared: _Shared, number: int) -> None:
        self._shared = shared
        self._number = number
        weakref.finalize(self, shared.dropped.append, number)

    def __iter__(self) -> Iterator[Batch]:
        ended = False
        try:
            while True:
                item = self._shared.next(self._number)
                if isinstance(item, Exception):
                    raise item
                if item is None:
                    ended = True
                    return
                yield item
                del item
        finally:
            if not ended:  # the others need not wait for a loop that ended early
                with self._shared.changed:
                    self._shared.move(self._number, None)


def tee(loader: Loader, branches: int, apart: int, timeout: float) -> List[Branch]:
    if branches < 1 or apart < 1:
        raise ValueError(f"tee(): branches and apart must be at least 1; they are {branches} and {apart}")
    if branches > _MAX_BRANCHES:
        raise ValueError(f"tee(): at most {_MAX_BRANCHES} branches are possible, not {branches}")
    shared = _Shared(loader, branches, apart, timeout)
    return [Branch(shared, number) for number in range(branches)]
