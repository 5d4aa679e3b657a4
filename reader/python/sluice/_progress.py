"""Shows the progress of convert()."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class Progress:
    """A user's function, or tqdm's bar in a terminal or a notebook, or nothing."""

    def __init__(self, progress: bool | Callable[[int, int], object] | None) -> None:
        self._function = progress if callable(progress) else None
        self._bar: Any = None
        if progress is None:
            progress = sys.stderr.isatty() or "ipykernel" in sys.modules
        if progress is True:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(unit=" images", desc="convert")

    def __call__(self, done: int, total: int) -> None:
        if self._function is not None:
            self._function(done, total)
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
